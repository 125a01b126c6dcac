"""Formulae as MathML, which browsers draw themselves: no script and no network."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def visit_inline(translator, node):
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def visit_block(translator, node):
    formula = tex2mathml(node.astext(), as_block=True)
    translator.body.append(f'<div class="math-block">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app):
    renderers = (visit_inline, None), (visit_block, None)
    app.add_html_math_renderer("mathml", *renderers)
    return {"parallel_read_safe": True}
