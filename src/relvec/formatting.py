"""Values as people read them, in the command line and in reports."""


def format_value(value: str | float | bool | None) -> str:
    """Format numbers to four digits, booleans as yes and no, None as a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        large = 1e4 <= abs(value) < 1e12
        return f"{value:,.0f}" if large else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else value
