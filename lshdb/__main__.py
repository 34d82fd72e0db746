"""The `lshdb` command, also as `python -m lshdb`."""

import gc


def main() -> None:
    """Run the command line, with fewer searches for garbage.

    Loading modules makes many objects and hardly any cycles: searching for these, then and at
    the end, would take a sixth of the time of a query.
    """
    gc.set_threshold(100_000, 20, 20)
    from lshdb.cli.app import main as run

    try:
        run()
    finally:
        gc.freeze()  # what is left goes with the process


if __name__ == "__main__":
    main()
