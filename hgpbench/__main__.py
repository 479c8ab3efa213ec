"""Entry point of ``hgpbench`` and ``python -m hgpbench``."""


def main() -> None:
    from hgpbench.cli import app

    app()


if __name__ == "__main__":
    main()
