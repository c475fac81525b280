"""`python -m ragq`, the same as `ragq`."""

from ragq.start import main

if __name__ == "__main__":
    main()
