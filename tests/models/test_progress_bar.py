"""Opening a model leaves the settings of transformers as they were."""

from __future__ import annotations

from transformers.utils import logging

import eyeline as el


def test_a_progress_bar_that_the_user_switched_off_stays_off():
    enabled = logging.is_progress_bar_enabled()
    try:
        logging.disable_progress_bar()
        el.load("minilm")
        assert not logging.is_progress_bar_enabled()
        logging.enable_progress_bar()
        el.load("minilm")
        assert logging.is_progress_bar_enabled()
    finally:
        (logging.enable_progress_bar if enabled else logging.disable_progress_bar)()
