"""What was fitted and how good it is, as one HTML file that needs nothing else.

It needs the extra ``report``, and imports it with the first report.
"""

from relvec.report.making import Origin, make_report
from relvec.report.page import Report

__all__ = ["Origin", "Report", "make_report"]
