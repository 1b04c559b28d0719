"""What do attribution, circuits and effects of heads cost, beside captum and the same work as plain passes? Ratios in one run, JSON out.

    python -m benchmarks.peers.causes [--models e5-small-mlm smollm2] [--repeats 5] [-o benchmarks/peers/causes.json]

integrated   integrated gradients: ours with as many steps as captum takes, and captum's on the same line; steps until the sum is right
circuit      scores of all edges by EAP and by EAP-IG in five steps, against one forward and backward pass over the text
effects      `el.causes` of one text, with and without its pruning curve, against `model.head_effects`
attribution  `el.attribute` by rollout and by norms, against the model's plain forward pass

Both sides of a ratio are run in turn, on as many threads as --threads says (torch's own number unless given). A peer that is not
installed is named and left out; `make bench-peers` installs them into a folder of their own. Seconds are those of the processor, so that
other work on the machine counts less. The model is as el.load gives it and is handed to nobody (`model._hf`): whoever takes `model.hf`
may change its weights, so that every later call reads all of them for their checksum.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import eyeline as el
from benchmarks.output import give

#: Model → a text that it answers, the same with another answer, and the two answers.
TEXTS = {
    "smollm2": (
        "When Mary and John went to the store, John gave a drink to",
        "When Mary and John went to the store, Mary gave a drink to",
        " Mary",
        " John",
    ),
    "e5-small-mlm": (
        "The girl lost her book, so [MASK] was sad.",
        "The boy lost his book, so [MASK] was sad.",
        "she",
        "he",
    ),
}
#: What captum takes by default is 50; 32 is what the method's authors call enough.
STEPS = 32


def medians(ways: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Processor seconds of each way: the median of runs in turn, after one that does not count."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(repeats + 1):
        for name, way in ways.items():
            start = time.process_time()
            way()
            if number:
                times[name].append(time.process_time() - start)
    return {name: round(statistics.median(values), 4) for name, values in times.items()}


def integrated(model: Any, text: str, repeats: int) -> dict[str, Any]:
    import numpy as np

    from eyeline.measure.causes.gradients import integrated_gradients, path_ends
    from eyeline.models.evaluation import no_cache
    from eyeline.models.objective import ask

    question = ask(model, model.read(text))
    ours = integrated_gradients(question)
    steps: dict[str, Any] = {"steps": ours.steps, "gap": round(ours.gap, 5)}
    ways: dict[str, Callable[[], Any]] = {"ours": lambda: integrated_gradients(question, STEPS)}
    try:
        from captum.attr import IntegratedGradients
    except ImportError as error:
        print(f"captum is left out: {error}. make bench-peers installs it.")
        return {**steps, "seconds": medians(ways, repeats)}
    vectors, baseline = path_ends(question)
    others = {name: tensor for name, tensor in question.inputs.items() if name != "input_ids"}

    def logit(embeddings: Any) -> Any:
        masks = {name: tensor.expand(len(embeddings), -1) for name, tensor in others.items()}
        return question.answer.logit(question.hf(inputs_embeds=embeddings, **masks, **no_cache(question.hf)).logits)

    peer = IntegratedGradients(logit)
    theirs = peer.attribute(vectors, baseline, n_steps=STEPS, method="gausslegendre").sum(-1)[0].detach().numpy()
    difference = np.abs(integrated_gradients(question, STEPS).scores - theirs).max() / np.abs(theirs).max()
    ways["captum"] = lambda: peer.attribute(vectors, baseline, n_steps=STEPS, method="gausslegendre")
    seconds = medians(ways, repeats)
    return {**steps, "seconds": seconds, "ratio": round(seconds["ours"] / seconds["captum"], 3), "apart": float(f"{difference:.1g}")}


def circuit(model: Any, texts: tuple[str, str, str, str], repeats: int) -> dict[str, Any]:
    import torch

    from eyeline.measure.causes.circuit import contrast, edge_scores
    from eyeline.models.evaluation import no_cache

    pair = contrast(model, *texts)

    def forward_and_backward() -> None:
        inputs = dict(pair.corrupt_text.inputs)
        embeddings = model._hf.get_input_embeddings()(inputs.pop("input_ids")).detach().requires_grad_()
        logits = model._hf(inputs_embeds=embeddings, **inputs, **no_cache(model._hf)).logits
        torch.autograd.grad(pair.metric(logits).sum(), embeddings)

    ways = {"pass": forward_and_backward, "eap": lambda: edge_scores(pair, "eap"), "eap_ig": lambda: edge_scores(pair, "eap-ig")}
    seconds = medians(ways, repeats)
    ratios = {name: round(seconds[name] / seconds["pass"], 2) for name in ("eap", "eap_ig")}
    return {"edges": len(edge_scores(pair, "eap")), "seconds": seconds, "ratios": ratios}


def effects(model: Any, text: str, repeats: int) -> dict[str, Any]:
    plain = text.replace("[MASK]", "they")
    trace = model.trace(text)
    ways = {
        "head_effects": lambda: model.head_effects(trace),
        "causes": lambda: el.causes(model, [plain]),
        "without_pruning": lambda: el.causes(model, [plain], pruning=False),
    }
    seconds = medians(ways, repeats)
    return {
        "seconds": seconds,
        "ratios": {name: round(seconds[name] / seconds["head_effects"], 2) for name in ("causes", "without_pruning")},
    }


def attribution(model: Any, text: str, repeats: int) -> dict[str, Any]:
    import torch

    inputs = model._passes.inputs([model.read(text)])

    def plain() -> None:
        with torch.no_grad():
            model._hf(**inputs)

    ways: dict[str, Callable[[], Any]] = {"pass": plain}
    ways |= {name: lambda name=name: el.attribute(model, text, method=name) for name in ("rollout", "norms")}
    seconds = medians(ways, repeats)
    return {"seconds": seconds, "ratios": {name: round(seconds[name] / seconds["pass"], 2) for name in ("rollout", "norms")}}


def measure(name: str, repeats: int) -> dict[str, Any]:
    model = el.load(name)
    texts = TEXTS[name]
    return {
        "tokens": len(model.read(texts[0]).source),
        "integrated": integrated(model, texts[0], repeats),
        "circuit": circuit(model, texts, repeats),
        "effects": effects(model, texts[0], max(1, repeats // 2)),
        "attribution": attribution(model, texts[0], 2 * repeats),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--models", nargs="+", default=list(TEXTS), choices=list(TEXTS))
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--threads", type=int)
    options.add_argument("-o", "--output", type=Path)
    given = options.parse_args()
    import torch

    if given.threads is not None:
        torch.set_num_threads(given.threads)
    give(
        {"steps": STEPS, "threads": torch.get_num_threads(), "models": {name: measure(name, given.repeats) for name in given.models}},
        given.output,
    )


if __name__ == "__main__":
    main()
