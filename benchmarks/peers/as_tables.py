"""The sections of what was measured beside other libraries, as Markdown tables."""

from __future__ import annotations

from typing import Any

from benchmarks.output import markdown_table

#: What stands above the table.
ABOUT = """## Beside other libraries and plain code

`make bench-peers`. Processor seconds of both sides in turn on one thread, medians; each number says how many times as long ours takes.
A pass is one over the same text. Causes of one text rest on the loss of every token, so the head of a decoder runs at each of them;
`head_effects` reads one position."""


def causes(data: dict[str, Any]) -> str:
    rows = []
    for name, measured in data["models"].items():
        parts = ("integrated", "circuit", "effects", "attribution", "recording", "corpus", "first")
        line, circuit, effects, attribution, recording, corpus, first = (measured[part] for part in parts)
        about = f"{name}, {measured['tokens']} tokens: "
        if "ratio" in line:
            apart = f"integrated gradients in {data['steps']} steps, against captum's ({line['apart']:.0e} apart)"
            rows.append([about + apart, f"{line['ratio']:.2f}", "1.1"])
        rows += [
            ["… steps until the sum is right, and how far it then is off", f"{line['steps']}, {line['gap']:.1%}", "2 %"],
            [f"{about}{circuit['edges']:,} edges by EAP, against one forward and backward pass", f"{circuit['ratios']['eap']:.1f}", "4"],
            ["… by EAP-IG in five steps", f"{circuit['ratios']['eap_ig']:.1f}", "20"],
            [f"{about}`el.causes` without its pruning curve, against `head_effects`", f"{effects['ratios']['without_pruning']:.2f}", "1.3"],
            ["… with the pruning curve", f"{effects['ratios']['causes']:.2f}", ""],
            [f"{about}rollout, against the plain forward pass", f"{attribution['ratios']['rollout']:.2f}", "1.4"],
            ["… norms", f"{attribution['ratios']['norms']:.2f}", "1.4"],
            [f"{about}queries, keys, values and `outputs`, against hooks", f"{recording['ratio']:.2f}", "1.05"],
            [
                f"{name}, {corpus['texts']} short texts: average attention and entropy, against a plain loop ({corpus['apart']:.0e} apart)",
                f"{corpus['ratio']:.2f}",
                "1.05",
            ],
            [
                f"{first['model']}: the first attention of a new process, seconds behind transformers ({first['transformers']:.1f} s)",
                f"{first['behind']:.2f}",
                "0.1",
            ],
        ]
    return f"{ABOUT} {data.get('note', '')}".rstrip() + f"\n\n{markdown_table(['', '', 'bar'], rows)}"
