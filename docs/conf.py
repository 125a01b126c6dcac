"""How Sphinx builds the documentation."""

import os
import sys
from pathlib import Path

import relvec

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

# Pictures of the gallery are drawn without a screen.
os.environ["MPLBACKEND"] = "Agg"

project = "relvec"
author = "The relvec developers"
project_copyright = author
release = version = relvec.__version__

extensions = [
    "figures",
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

# References into other projects would need their inventories, which a build without
# network cannot fetch: these names are left as plain text.
nitpick_ignore_regex = [("py:.*", r"(sklearn|numpy)\..*")]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"demo\.py",
    "within_subsection_order": "reading_order.ReadingOrder",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "abort_on_example_error": True,
}

# `make links`: a page that is slow, or asks for patience, is not a broken link. Anchors
# of other sites are often made by scripts, which are not run.
linkcheck_retries = 3
linkcheck_timeout = 30
linkcheck_rate_limit_timeout = 120
linkcheck_anchors = False
linkcheck_ignore = [
    r"https?://localhost",
    # These refuse programs, or some of them, some of the time.
    r"https://doi\.org/",
    r"https://www\.miketipping\.com/",
]

html_theme = "pydata_sphinx_theme"
html_title = "relvec"
html_static_path = ["_static"]
html_css_files = ["relvec.css"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
}
_without_sidebar = (
    "index",
    "playground",
    "notation",
    "limits",
    "benchmarks",
    "changelog",
)
html_sidebars = {page: [] for page in _without_sidebar}
html_math_renderer = "mathml"
