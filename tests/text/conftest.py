"""The tokenisers as one fixture: a test that takes it runs with each."""

from __future__ import annotations

from typing import Any

import pytest

from tests.text.sample_tokenisers import ALL


@pytest.fixture(params=list(ALL))
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return ALL[request.param]()
