"""What do recording, attribution, circuits, effects and statistics cost, beside captum and plain code? Ratios in one run, JSON out.

    python -m benchmarks.peers.causes [--models e5-small-mlm smollm2] [--repeats 5] [-o benchmarks/peers/causes.json]

integrated   integrated gradients: ours with as many steps as captum takes, and captum's on the same line; steps until the sum is right
circuit      scores of all edges by EAP and by EAP-IG in five steps, against one forward and backward pass over the text
effects      `el.causes` of one text, with and without its pruning curve, against `model.head_effects`
attribution  `el.attribute` by rollout and by norms, against the model's plain forward pass
recording    `model.trace` with queries, keys, values and `outputs`, against hooks on the same modules
corpus       `el.analyse` of average attention and entropy, against a plain loop over `output_attentions` that sums the same
first        a process that imports, opens the model and has the attention of one text: ours, and transformers' AutoModel on the same files

Both sides of a ratio are run in turn, on as many threads as --threads says (torch's own number unless given). A peer that is not
installed is named and left out; `make bench-peers` installs them into a folder of their own. Seconds are those of the processor, so that
other work on the machine counts less. The model is as el.load gives it and is handed to nobody (`model._hf`): whoever takes `model.hf`
may change its weights, so that every later call reads all of them for their checksum.
"""

from __future__ import annotations

import argparse
import random
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

#: Projections of queries, keys and values, and of what the heads write, by their names in BERT and in Llama.
PROJECTIONS = {"query", "key", "value", "q_proj", "k_proj", "v_proj"}
OUTPUTS = ("attention.output.dense", "o_proj")

#: The short texts of the corpus.
WORDS = ("the", "cat", "sat", "on", "a", "mat", ",", "and", "it", "saw", "dogs", "that", "ran", "very", "long", "ways", "home", ".")
TEXTS_OF_CORPUS = 30

#: A model whose files transformers opens too, for one that is made of them.
FILES = {"e5-small-mlm": "e5-small"}


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


def recording(model: Any, text: str, repeats: int) -> dict[str, Any]:
    import torch

    inputs, layers = model._passes.inputs([model.read(text)]), len(model.layout.slots)
    heads = model.layout.slots[0].n_heads
    projections = [module for name, module in model._hf.named_modules() if name.rpartition(".")[2] in PROJECTIONS]
    outputs = [module for name, module in model._hf.named_modules() if name.endswith(OUTPUTS)]
    assert (len(projections), len(outputs)) == (3 * layers, layers)

    def hooks() -> Any:
        vectors: list[Any] = []
        written: list[Any] = []
        handles = [module.register_forward_hook(lambda _m, _a, output: vectors.append(output.numpy())) for module in projections]
        handles += [module.register_forward_pre_hook(lambda _m, args: written.append(args[0])) for module in outputs]
        with torch.inference_mode():
            model._hf(**inputs)
        for handle in handles:
            handle.remove()
        together = torch.cat(written)  # [layer, token, head · dim]
        return vectors, together.unflatten(-1, (heads, -1)).transpose(1, 2).numpy()

    def ours() -> Any:
        trace = model.trace(text)
        return trace.queries, trace.keys, trace.values, trace.outputs

    apart = float(abs(hooks()[1] - ours()[3]).max())
    seconds = medians({"hooks": hooks, "ours": ours}, repeats)
    return {"seconds": seconds, "ratio": round(seconds["ours"] / seconds["hooks"], 3), "apart": float(f"{apart:.1g}")}


def corpus(model: Any, repeats: int) -> dict[str, Any]:
    import torch

    from eyeline.models.tracing import in_batches

    draw = random.Random(0)  # noqa: S311 - seeded, not a secret
    texts = [" ".join(draw.choice(WORDS) for _ in range(draw.randint(8, 40))) for _ in range(TEXTS_OF_CORPUS)]
    statistics_of_both = [el.statistics.AverageAttention(), el.statistics.Entropy()]

    def loop() -> Any:
        """The mean attention to the token itself, its neighbours and the first token, and the mean entropy: [layer, head, 5]"""
        examples = [model.read(text) for text in texts]
        sums, n = torch.zeros(len(model.layout.slots), model.layout.slots[0].n_heads, 5, dtype=torch.float64), 0
        for batch in in_batches(model.layout, examples):
            inputs = model._passes.inputs([examples[i] for i in batch])
            inside = inputs["attention_mask"][:, None].double()  # [text, 1, query]
            inside = inside / inside.sum(-1, keepdim=True)  # the mean over rows, then over texts
            with torch.inference_mode():
                maps = model._body(**inputs, output_attentions=True).attentions
                for layer, weights in enumerate(maps):
                    diagonals = [weights.diagonal(offset, 2, 3) for offset in (0, -1, 1)]
                    rows = torch.stack(
                        [
                            diagonals[0],
                            torch.nn.functional.pad(diagonals[1], (1, 0)),
                            torch.nn.functional.pad(diagonals[2], (0, 1)),
                            weights[..., 0],
                            torch.special.entr(weights).sum(-1),
                        ],
                        -1,
                    )  # [text, head, query, 5]
                    sums[layer] += (rows * inside[..., None]).sum((0, 2))
            n += len(batch)
        return sums / n

    run = el.analyse(model, texts, statistics_of_both)
    entropies = run.table("entropy")["all"].astype(float)
    apart = float(abs(loop()[..., 4].flatten().numpy() - entropies).max())
    seconds = medians({"loop": loop, "analyse": lambda: el.analyse(model, texts, statistics_of_both)}, repeats)
    ratio = round(seconds["analyse"] / seconds["loop"], 3)
    return {"texts": len(texts), "seconds": seconds, "ratio": ratio, "apart": float(f"{apart:.1g}")}


def first(name: str, text: str, repeats: int) -> dict[str, float]:
    """Processor seconds of new processes, taken in turn: the median of each, and how far ours is behind."""
    import resource
    import subprocess
    import sys

    files = el.load(name)._hf.config._name_or_path
    ways = {
        "ours": f"import eyeline as el; el.load({name!r}).trace({text!r}).weights",
        "transformers": f"""
import torch
from transformers import AutoModel, AutoTokenizer
model = AutoModel.from_pretrained({files!r}, attn_implementation="eager").eval()
inputs = AutoTokenizer.from_pretrained({files!r})({text!r}, return_tensors="pt")
with torch.inference_mode():
    [weights.numpy() for weights in model(**inputs, output_attentions=True).attentions]
""",
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(repeats + 1):
        for way, code in ways.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if number:
                times[way].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    seconds = {way: round(statistics.median(values), 3) for way, values in times.items()}
    return {**seconds, "behind": round(seconds["ours"] - seconds["transformers"], 3)}


def measure(name: str, repeats: int) -> dict[str, Any]:
    model = el.load(name)
    texts = TEXTS[name]
    return {
        "tokens": len(model.read(texts[0]).source),
        "integrated": integrated(model, texts[0], repeats),
        "circuit": circuit(model, texts, repeats),
        "effects": effects(model, texts[0], max(1, repeats // 2)),
        "attribution": attribution(model, texts[0], 2 * repeats),
        "recording": recording(model, texts[0], 4 * repeats),
        "corpus": corpus(model, max(1, repeats // 2)),
        "first": {"model": FILES.get(name, name), **first(FILES.get(name, name), texts[0], max(1, repeats // 2))},
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
