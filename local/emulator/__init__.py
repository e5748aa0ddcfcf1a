"""The emulator process: ministack plus what it lacks. Runs in `.venv-emulator`, apart from the commands in `local/`."""
