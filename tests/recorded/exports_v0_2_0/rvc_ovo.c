/* RVC: 5 vectors, 2 features. Written by relvec.
 *
 * int model_predict(const model_number x[2], model_number out[3]);
 * out has the probabilities of all classes, in their order; the place of the
 * largest is returned, the first of those that are equal. The classes are
 *   0: 0
 *   1: 1
 *   2: 2
 *
 * Constants: 1072 bytes of flash. RAM: 320 bytes of stack,
 * beside scalars. Nothing is allocated, and nothing but math.h is needed.
 * Arithmetic is that of double.
 * With RELVEC_SELF_TEST defined the file is a program that tests itself: it
 * prints the largest error, relative to the size of an output. */
#ifndef MODEL_INCLUDED
#define MODEL_INCLUDED
#include <math.h>

typedef double model_number;
#define number model_number

enum { model_features = 2, model_outputs = 3 };
int model_predict(const model_number x[2], model_number out[3]);

static const double model_c0[4] = {
    -0.45834208305113905, 1.5343441030010787, -0.71822231401467351, -1.5330035064487284,
};
static const double model_c1[4] = {
    2.4436397578301001, -0.42511520925294866, 0.0, 2.2820992751101734,
};
static const double model_c2[2] = {
    -4.1762715763594631, 3.853300492884336,
};
static const double model_c3[32] = {
    0.089999999999999997, 0.11532417760681658, 0.14777406600765097, 0.18935469593275314,
    0.24263527316037317, 0.31090792595139266, 0.39839112079761574, 0.51049031524269961,
    0.65413195312898786, 0.83819143934379159, 1.0740415379932964, 1.376255078718194,
    1.7635053903375595, 2.2597200982874139, 2.8955595772954537, 3.7103114107015545,
    4.7543179122704924, 6.0920867034883548, 7.8062765443246338, 10.002804696062451,
    12.817391392611171, 16.42394579352861, 21.045311574418022, 26.967036108877526,
    34.555014019440307, 44.278095266488577, 56.737054695600882, 72.701713028923834,
    93.158502951860285, 119.37141933339426, 152.96011960424619, 196.0,
};
static const double model_c4[22] = {
    -1.2992684338400475e-09, 7.0201080426984396e-10, 2.0440991549406456e-08,
    -1.4478972838065548e-08, -1.7244562911537088e-07, 1.9074745446146838e-07,
    1.156352171292445e-06, -2.319225225954937e-06, -6.2864728948917453e-06,
    2.6492469440567548e-05, 7.4871572852358674e-06, -0.00024652903653130847,
    0.00056202578590597459, 0.0006974459916895768, -0.0088642059240187573,
    0.03473222149012601, -0.093306558978157414, 0.19732666724033263,
    -0.34681486888369079, 0.52065610514037264, -0.67793267025675341,
    0.77210609388479301,
};
static const double model_c5[32] = {
    3.4636176026694519e-22, 4.036287957400603e-17, 3.3407949449972592e-13,
    3.509040516389099e-10, 7.3562345494284397e-08, 4.3818849955571709e-06,
    9.7688224339010141e-05, 0.0010103046565827813, 0.0057294587907189796,
    0.020290370962939414, 0.049630676139490411, 0.090620015435528306,
    0.13103767309186209, 0.15678736249686273, 0.16001891783316999, 0.14169972358832333,
    0.10905664922786559, 0.071786302051581846, 0.039053533784708973,
    0.016687140029054612, 0.0052345644694233064, 0.0011051089089929988,
    0.00014046434817097776, 9.3187534305751543e-06, 2.6873684230134557e-07,
    2.6648011083954668e-09, 6.7284339268543342e-12, 2.9438138146953278e-15,
    1.3628645822717213e-19, 3.5486902447639933e-25, 2.3123435493993237e-32,
    1.3357923025525463e-41,
};
static const double model_c6[4] = {
    1.776467353651829, 0.65729451480092671, 0.28525105151856511, -0.49365865343202209,
};
static const double model_c7[4] = {
    3.8543025121271191, -2.7881771258658632, 0.0, 1.520850396886529,
};
static const double model_c8[2] = {
    -8.3193998474537185, 2.5769439790296982,
};
static const double model_c9[4] = {
    1.776467353651829, 0.65729451480092671, -1.1356954501439822, 1.77811507578436,
};
static const double model_c10[4] = {
    2.5078576826085235, -0.20513959804049622, 0.0, 2.9794031361344557,
};
static const double model_c11[2] = {
    -3.86437022753476, 4.664292126668883,
};
static const int model_column12[3] = {
    6, 1, 3,
};
static const double model_c13[3] = {
    1.0, 0.0, 0.0,
};
static const int model_column14[3] = {
    6, 0, 2,
};
static const int model_column15[3] = {
    0, 6, 5,
};
static const double model_c16[3] = {
    0.0, 1.0, 0.0,
};
static const int model_column17[3] = {
    1, 6, 4,
};
static const int model_column18[3] = {
    2, 4, 6,
};
static const double model_c19[3] = {
    0.0, 0.0, 1.0,
};
static const int model_column20[3] = {
    3, 5, 6,
};

int model_predict(const model_number x[2], model_number out[3])
{
    double b1[2];
    for (int i2 = 0; i2 < 2; ++i2) {
        double s3 = 0;
        for (int i4 = 0; i4 < 2; ++i4) {
            const double d5 = x[i4] - model_c0[i2 * 2 + i4];
            s3 += d5 * d5;
        }
        b1[i2] = exp(s3 * -0.5);
    }
    double s7 = 0;
    for (int i8 = 0; i8 < 2; ++i8) {
        double s9 = 0;
        for (int i10 = 0; i10 < 2; ++i10) {
            s9 += b1[i10] * model_c1[i10 * 2 + i8];
        }
        s7 += s9 * s9;
    }
    const double v6 = s7;
    double s12 = 0;
    for (int i13 = 0; i13 < 2; ++i13) {
        s12 += b1[i13] * model_c2[i13];
    }
    const double v11 = s12;
    double s15 = 0;
    for (int i16 = 0; i16 < 32; ++i16) {
        const double v17 = v11 / sqrt(v6 + model_c3[i16]);
        const double v18 = 1.0 / (fabs(v17) + 5.3033008588991066);
        double s19 = model_c4[0];
        for (int i20 = 1; i20 < 22; ++i20)
            s19 = s19 * (1.0 - (v18 * 10.606601717798213)) + model_c4[i20];
        s15 += (exp((v17 * v17) * -0.5) * (s19 * v18)) * model_c5[i16];
    }
    const double v14 = s15;
    const double v21 = 1.0 - v14;
    const double v22 = v11 < 0 ? v14 : v21;
    const double v23 = v11 < 0 ? v21 : v14;
    double b24[2];
    for (int i25 = 0; i25 < 2; ++i25) {
        b24[i25] = i25 < 1 ? v23 : v22;
    }
    double b26[2];
    for (int i27 = 0; i27 < 2; ++i27) {
        double s28 = 0;
        for (int i29 = 0; i29 < 2; ++i29) {
            const double d30 = x[i29] - model_c6[i27 * 2 + i29];
            s28 += d30 * d30;
        }
        b26[i27] = exp(s28 * -0.5);
    }
    double s32 = 0;
    for (int i33 = 0; i33 < 2; ++i33) {
        double s34 = 0;
        for (int i35 = 0; i35 < 2; ++i35) {
            s34 += b26[i35] * model_c7[i35 * 2 + i33];
        }
        s32 += s34 * s34;
    }
    const double v31 = s32;
    double s37 = 0;
    for (int i38 = 0; i38 < 2; ++i38) {
        s37 += b26[i38] * model_c8[i38];
    }
    const double v36 = s37;
    double s40 = 0;
    for (int i41 = 0; i41 < 32; ++i41) {
        const double v42 = v36 / sqrt(v31 + model_c3[i41]);
        const double v43 = 1.0 / (fabs(v42) + 5.3033008588991066);
        double s44 = model_c4[0];
        for (int i45 = 1; i45 < 22; ++i45)
            s44 = s44 * (1.0 - (v43 * 10.606601717798213)) + model_c4[i45];
        s40 += (exp((v42 * v42) * -0.5) * (s44 * v43)) * model_c5[i41];
    }
    const double v39 = s40;
    const double v46 = 1.0 - v39;
    const double v47 = v36 < 0 ? v39 : v46;
    const double v48 = v36 < 0 ? v46 : v39;
    double b49[2];
    for (int i50 = 0; i50 < 2; ++i50) {
        b49[i50] = i50 < 1 ? v48 : v47;
    }
    double b51[2];
    for (int i52 = 0; i52 < 2; ++i52) {
        double s53 = 0;
        for (int i54 = 0; i54 < 2; ++i54) {
            const double d55 = x[i54] - model_c9[i52 * 2 + i54];
            s53 += d55 * d55;
        }
        b51[i52] = exp(s53 * -0.5);
    }
    double s57 = 0;
    for (int i58 = 0; i58 < 2; ++i58) {
        double s59 = 0;
        for (int i60 = 0; i60 < 2; ++i60) {
            s59 += b51[i60] * model_c10[i60 * 2 + i58];
        }
        s57 += s59 * s59;
    }
    const double v56 = s57;
    double s62 = 0;
    for (int i63 = 0; i63 < 2; ++i63) {
        s62 += b51[i63] * model_c11[i63];
    }
    const double v61 = s62;
    double s65 = 0;
    for (int i66 = 0; i66 < 32; ++i66) {
        const double v67 = v61 / sqrt(v56 + model_c3[i66]);
        const double v68 = 1.0 / (fabs(v67) + 5.3033008588991066);
        double s69 = model_c4[0];
        for (int i70 = 1; i70 < 22; ++i70)
            s69 = s69 * (1.0 - (v68 * 10.606601717798213)) + model_c4[i70];
        s65 += (exp((v67 * v67) * -0.5) * (s69 * v68)) * model_c5[i66];
    }
    const double v64 = s65;
    const double v71 = 1.0 - v64;
    const double v72 = v61 < 0 ? v64 : v71;
    const double v73 = v61 < 0 ? v71 : v64;
    double b74[2];
    for (int i75 = 0; i75 < 2; ++i75) {
        b74[i75] = i75 < 1 ? v73 : v72;
    }
    double b76[7];
    for (int i77 = 0; i77 < 7; ++i77) {
        b76[i77] = i77 < 2 ? b74[i77] : i77 < 4 ? b49[i77 - 2] : i77 < 6 ? b24[i77 - 4] : 0.0;
    }
    double s79 = 0;
    for (int i80 = 0; i80 < 3; ++i80) {
        s79 += b76[model_column12[i80]] * b76[model_column12[i80]];
    }
    const double v78 = s79;
    double b81[3];
    for (int i82 = 0; i82 < 3; ++i82) {
        const double v83 = (v78 * model_c13[i82]) - (b76[model_column14[i82]] * b76[model_column12[i82]]);
        b81[i82] = v83 + 1.0;
    }
    double s85 = 0;
    for (int i86 = 0; i86 < 3; ++i86) {
        s85 += b76[model_column15[i86]] * b76[model_column15[i86]];
    }
    const double v84 = s85;
    double b87[3];
    for (int i88 = 0; i88 < 3; ++i88) {
        const double v89 = (v84 * model_c16[i88]) - (b76[model_column17[i88]] * b76[model_column15[i88]]);
        b87[i88] = v89 + 1.0;
    }
    const double v90 = b87[0] / b81[0];
    double b91[3];
    for (int i92 = 0; i92 < 3; ++i92) {
        b91[i92] = b87[i92] - (v90 * b81[i92]);
    }
    double s94 = 0;
    for (int i95 = 0; i95 < 3; ++i95) {
        s94 += b76[model_column18[i95]] * b76[model_column18[i95]];
    }
    const double v93 = s94;
    double b96[3];
    for (int i97 = 0; i97 < 3; ++i97) {
        const double v98 = (v93 * model_c19[i97]) - (b76[model_column20[i97]] * b76[model_column18[i97]]);
        b96[i97] = v98 + 1.0;
    }
    const double v99 = b96[0] / b81[0];
    double b100[3];
    for (int i101 = 0; i101 < 3; ++i101) {
        b100[i101] = b96[i101] - (v99 * b81[i101]);
    }
    const double v102 = b100[1] / b91[1];
    const double v103 = 1.0 - v90;
    const double v104 = ((1.0 - v99) - (v102 * v103)) / (b100[2] - (v102 * b91[2]));
    const double v105 = (v103 - (b91[2] * v104)) / b91[1];
    const double v106 = ((1.0 - (b81[1] * v105)) - (b81[2] * v104)) / b81[0];
    double b107[3];
    for (int i108 = 0; i108 < 3; ++i108) {
        b107[i108] = i108 < 1 ? v106 : i108 < 2 ? v105 : v104;
    }
    double s110 = 0;
    for (int i111 = 0; i111 < 3; ++i111) {
        s110 += b107[i111];
    }
    const double v109 = s110;
    double b112[3];
    for (int i113 = 0; i113 < 3; ++i113) {
        b112[i113] = fmax(b107[i113] / v109, 2.2204460492503131e-16);
    }
    double s115 = 0;
    for (int i116 = 0; i116 < 3; ++i116) {
        s115 += b112[i116];
    }
    const double v114 = s115;
    for (int i117 = 0; i117 < 3; ++i117) {
        const double v118 = b112[i117] / v114;
        out[i117] = (number)(v118);
    }
    int best = 0;
    for (int i = 1; i < 3; ++i)
        if (out[i] > out[best])
            best = i;
    return best;
}

#ifdef RELVEC_SELF_TEST
#include <stdio.h>

static const number model_rows[16] = {
    0.25086667477365632, -0.37608756466008192, -0.13097982411538001,
    0.42216195092953568, -0.69920244922304264, 1.7380102651893141,
    -0.033930475560117503, 0.75466247229465178, -1.2275312923835355,
    -1.9920606305813862, -0.28214136130689943, -1.1410003871433805,
    -0.89032485492373137, -1.8361541672658479, -1.1435163743289936, 1.8028712976932932,
};
static const double model_expected[24] = {
    0.26615196515470652, 0.22233262670536003, 0.51151540813993346, 0.26899562889407025,
    0.53020151405584592, 0.2008028570500838, 0.091681893676132636, 0.82590822688221976,
    0.082409879441647613, 0.28686841352743131, 0.58550113013353466, 0.12763045633903414,
    0.32028987915196849, 0.14379627987143076, 0.53591384097660077, 0.1708277483472351,
    0.11111661268729502, 0.71805563896546987, 0.28427882660326842, 0.1260111799150094,
    0.58970999348172215, 0.085255479862233946, 0.81769675823406518,
    0.097047761903700916,
};
static const double model_scale[3] = {
    0.82590822688221976, 0.82590822688221976, 0.82590822688221976,
};

int main(void)
{
    double largest = 0;
    for (int i = 0; i < 8; ++i) {
        number out[model_outputs];
        model_predict(model_rows + i * model_features, out);
        for (int j = 0; j < model_outputs; ++j) {
            const double known = model_expected[i * model_outputs + j];
            const double error = fabs((double)out[j] - known) / model_scale[j];
            if (error > largest)
                largest = error;
            else if (!(error <= largest)) /* not a number is no small error */
                largest = HUGE_VAL;
        }
    }
    printf("%.17g\n", largest);
    return !(largest <= 1e-10);
}
#endif

#undef number
#endif
