"""Where the `dwindle` command begins.

Nearly all that a short command costs is importing, and taking apart again what was imported. So
nothing is imported up here that is not needed, what can be answered at once is answered before
anything else is looked at, and after a `status`, which hooks ask for at every turn, the process
just ends: all has been written, and there is nothing to tidy up.
"""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Answer the words of the command line; the exit code."""
    words = sys.argv[1:]
    if words in (["--version"], ["version"]):
        from dwindle._version import __version__  # noqa: PLC0415 - see above
        from dwindle.app.console import say  # noqa: PLC0415

        return say(f"dwindle {__version__}")
    if words[:1] == ["hook"] and len(words) == 1:
        from dwindle.surfaces.host.hook import answer as hook  # noqa: PLC0415

        os._exit(hook())
    from dwindle.surfaces.entry import answer, plain_status  # noqa: PLC0415

    if plain_status(words) is None:
        return answer(words)
    import gc  # noqa: PLC0415

    gc.disable()
    os._exit(answer(words))


if __name__ == "__main__":
    sys.exit(main())
