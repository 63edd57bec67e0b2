"""The one error that this package raises for what a user can put right."""


class InputError(ValueError):
    """Something the user supplied is wrong.

    The message is one sentence that says what was wrong, where, and what would be right. The
    command line prints it and exits with code 2; anything else that escapes is a defect.
    """
