/* RVR: 4 vectors, 2 features. Written by relvec.
 *
 * void model_predict(const model_number x[2], model_number out[2]);
 * out[0] is the mean of the target.
 * out[1] is the std of the target.
 *
 * Constants: 232 bytes of flash. RAM: 24 bytes of stack,
 * beside scalars. Nothing is allocated, and nothing but math.h is needed.
 * Arithmetic is that of double.
 * With RELVEC_SELF_TEST defined the file is a program that tests itself: it
 * prints the largest error, relative to the size of an output. */
#ifndef MODEL_INCLUDED
#define MODEL_INCLUDED
#include <math.h>

typedef double model_number;
#define number model_number

enum { model_features = 2, model_outputs = 2 };
void model_predict(const model_number x[2], model_number out[2]);

static const double model_c0[6] = {
    0.54784674928581722, -0.92085314494451875, -0.80115243785046086,
    -0.30925111520936621, 0.68249765877452129, 0.58875804629700035,
};
static const double model_c1[2] = {
    0.68249765877452129, 0.58875804629700035,
};
static const double model_c2[3] = {
    0.21716631923063975, -0.37731891569611009, 0.10695483097296156,
};
static const double model_c3[2] = {
    0.55820641230529644, 0.48153794011460593,
};
static const double model_c4[12] = {
    0.0, 0.049654583833049659, -0.028928666238792835, -0.017522655463901561, 0.0, 0.0,
    0.076432522158019434, -0.034180008214385292, 0.0, 0.0, 0.0, 0.060859027287898528,
};
static const double model_c5[4] = {
    0.017256114855750928, 0.00021304689724784578, 0.0043586807302844494,
    -0.011707988874760445,
};

void model_predict(const model_number x[2], model_number out[2])
{
    double b1[3];
    for (int i2 = 0; i2 < 3; ++i2) {
        double s3 = 0;
        for (int i4 = 0; i4 < 2; ++i4) {
            const double d5 = x[i4] - model_c0[i2 * 2 + i4];
            s3 += d5 * d5;
        }
        const double v6 = fmin(sqrt(s3 * 3.0), 10000.0);
        b1[i2] = exp(-v6) * (v6 + 1.0);
    }
    double s8 = 0;
    for (int i9 = 0; i9 < 2; ++i9) {
        s8 += x[i9] * model_c1[i9];
    }
    const double v7 = s8;
    double s10 = 0;
    for (int i11 = 0; i11 < 1; ++i11) {
        double s12 = 0;
        for (int i13 = 0; i13 < 3; ++i13) {
            s12 += b1[i13] * model_c2[i13];
        }
        double s14 = 0;
        for (int i15 = 0; i15 < 2; ++i15) {
            s14 += x[i15] * model_c3[i15];
        }
        s10 += (s12 + s14) + 0.10761817160609188;
    }
    out[0] = (number)(s10);
    double s16 = 0;
    for (int i17 = 0; i17 < 1; ++i17) {
        double s18 = 0;
        for (int i19 = 0; i19 < 4; ++i19) {
            double s20 = 0;
            for (int i21 = 0; i21 < 3; ++i21) {
                s20 += b1[i21] * model_c4[i21 * 4 + i19];
            }
            double s22 = 0;
            for (int i23 = 0; i23 < 1; ++i23) {
                s22 += v7 * model_c5[i19];
            }
            const double v24 = s20 + s22;
            s18 += v24 * v24;
        }
        s16 += sqrt(s18 + 0.060997327948909566);
    }
    out[1] = (number)(s16);
}

#ifdef RELVEC_SELF_TEST
#include <stdio.h>

static const number model_rows[16] = {
    0.66149182327075118, 0.64901367464195203, 0.19788718943743336, 0.28646919793390618,
    0.56569325448481822, -0.62607854206254498, 0.70602546834946867, 0.72855954233934028,
    -1.1042038583011617, -0.49953421736947434, -0.54134972131543813,
    -0.14506542982920156, -1.0068539306768369, -0.50681629736557587,
    0.29564649516430153, -0.79599046420039354,
};
static const double model_expected[16] = {
    0.87517372592605558, 0.25114214264239204, 0.36165343588518806, 0.24954622772762097,
    0.24502802893712683, 0.25108693696155232, 0.93830750192360035, 0.25098640416665408,
    -1.0201547246948479, 0.25447053878178016, -0.50154740835885825, 0.25452687866690754,
    -0.97708005989297109, 0.25512620221421561, -0.026654306059571531,
    0.25128860980803475,
};
static const double model_scale[2] = {
    1.0201547246948479, 0.25512620221421561,
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
