"""The `lshdb` command, also as `python -m lshdb`."""

import gc
import sys


def main() -> None:
    """Run the command line, with fewer searches for garbage.

    Loading modules makes many objects and hardly any cycles: searching for these, then and at
    the end, would take a sixth of the time of a query.
    """
    gc.set_threshold(100_000, 20, 20)
    try:
        from lshdb.cli.app import main as run

        run()
    except KeyboardInterrupt:  # while modules are loaded
        sys.exit(130)
    finally:
        gc.freeze()  # what is left goes with the process


if __name__ == "__main__":
    main()
