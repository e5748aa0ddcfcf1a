"""What every test shares."""

import os
import signal

# The tests start several processes that compute at once. llama.cpp's threads wait for each other by spinning, and with
# more threads than cores that wait is most of the time (measured: ten times slower). Waiting asleep changes no result.
# The OpenMP library reads it once, when it loads: hence here, before any test imports it; children inherit it.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# A shell that runs the tests in the background has them ignore Ctrl-C, and children inherit that: tests of what an
# interrupt does would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
