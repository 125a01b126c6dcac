"""Commands as users see them: words, options, help.

Each imports what does the work when it runs, so that help and tab completion do not
wait for scikit-learn.
"""
