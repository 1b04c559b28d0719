"""What the app's components are sent."""

from __future__ import annotations

import subprocess
import sys

from eyeline.show.app.kit import mounted

#: As Streamlit writes what a component is sent; then says whether that needed pandas.
WRITE = """
import sys
from streamlit.components.v2.bidi_component.serialization import serialize_mixed_data
from streamlit.proto.BidiComponent_pb2 import BidiComponent
message = BidiComponent()
serialize_mixed_data({data!r}, message)
print(message.json, "pandas" in sys.modules)
"""


def test_the_first_answer_does_not_wait_for_the_import_of_pandas(monkeypatch):
    sent = []
    monkeypatch.setattr(mounted, "_component", lambda name: lambda data, **options: sent.append(data))
    header = b'{"digest": "abc"}'
    mounted.send_answer(len(header).to_bytes(4, "little") + header, {"off": "", "prediction": {"kind": "masked"}}, key="answer")
    written = subprocess.run([sys.executable, "-c", WRITE.format(data=sent[0])], capture_output=True, text=True, check=True)
    assert written.stdout.strip() == '["abc", {"off": "", "prediction": {"kind": "masked"}}] False'
