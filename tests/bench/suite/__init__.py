# SPDX-License-Identifier: MIT
"""What tests/bench/bench.py is made of; see there."""
