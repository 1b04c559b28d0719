"""What does it cost to record what a model looks at while it writes, beside plain `generate` and beside `output_attentions`? JSON out.

    python -m benchmarks.cost.generation [--repeats 3,1] [--sizes 512+48,2048+128] [-o generation.json]
    python -m benchmarks.cost.generation --gpu [--repeats 5,5,5] [-o generation_gpu.json]     (an 8B shape in bf16, random weights)

For each size, prompt + written tokens: the processor's seconds of plain `generate` (its fused kernel), and as ratios to it
`recorded` (model.generate: shares of all heads, mean rows, the check of its logits), `replay` (model.replay of the finished text) and
`output_attentions` (generate with all maps of every step, eager). The ways take turns in one process, and each ratio is that of
medians. On a GPU: wall time.

memory: of the first size, the peak above the loaded model, each in a process of its own; `held`: what output_attentions holds at its
end, and the arrays of the generation.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.output import give
from benchmarks.process import in_process, resident

CPU_SIZES, GPU_SIZES = "512+48,2048+128", "2048+256,8192+128,32768+64"
#: The shape of Llama 3 8B.
SHAPE = {
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 65536,
}
WORDS = "the ferry to Norden leaves at seven and dogs travel free on every day but one when there is no boat in the morning"


def models(gpu: bool) -> tuple[Any, Any]:
    """Ours, and a model of transformers with the same weights that nobody has opened."""
    import eyeline as el

    model = el.load("smollm2")
    if not gpu:
        plain = type(model.hf).from_pretrained(None, config=model.hf.config, state_dict=model.hf.state_dict())
        plain.generation_config = model.hf.generation_config
        return model, plain.eval()
    import torch
    import transformers

    torch.manual_seed(0)
    with torch.device("cuda"):
        plain = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHAPE)).to(torch.bfloat16).eval()
    wrapped = el.wrap(
        transformers.LlamaForCausalLM.from_pretrained(None, config=plain.config, state_dict=plain.state_dict()), model.tokenizer
    )
    return wrapped, plain


def prompt_of(model: Any, n: int) -> str:
    """A text of n tokens."""
    words = (WORDS.split() * (n // 10 + 1))[: 2 * n]
    ids = model.tokenizer(" ".join(words), add_special_tokens=False).input_ids[:n]
    return str(model.tokenizer.decode(ids))


def ways(model: Any, plain: Any, n_prompt: int, n: int) -> dict[str, Callable[[], Any]]:
    """Each way to write the same text, and to read it again."""
    import torch

    prompt = prompt_of(model, n_prompt)
    ids = torch.tensor([model.tokenizer(prompt, add_special_tokens=False).input_ids], device=plain.device)
    options = {"max_new_tokens": n, "min_new_tokens": n, "do_sample": False}
    mask = torch.ones_like(ids)

    def write(implementation: str, **further: Any) -> Any:
        plain.set_attn_implementation(implementation)
        with torch.inference_mode():
            return plain.generate(ids, attention_mask=mask, pad_token_id=0, **options, **further)

    written = write("sdpa")[0, ids.shape[1] :].tolist()
    return {
        "plain": lambda: write("sdpa"),
        "recorded": lambda: model.generate(prompt, **options),
        "replay": lambda: model.replay(prompt, completion_ids=written),
        "output_attentions": lambda: write("eager", output_attentions=True, return_dict_in_generate=True),
    }


def seconds(call: Callable[[], Any], gpu: bool) -> float:
    """Of the processor; on a GPU of the clock."""
    import torch

    clock = time.perf_counter if gpu else time.process_time
    start = clock()
    call()
    if gpu:
        torch.cuda.synchronize()
    return clock() - start


def times(sizes: list[tuple[int, int]], repeats: list[int], gpu: bool) -> dict[str, Any]:
    """Seconds of plain generate, and ratios to it, for each size."""
    model, plain = models(gpu)
    found: dict[str, Any] = {}
    for (n_prompt, n), times_each in zip(sizes, repeats, strict=True):
        each = ways(model, plain, n_prompt, n)
        if gpu and n_prompt > 8192:
            del each["output_attentions"]  # a map of the prompt does not fit
        measured: dict[str, list[float]] = {name: [] for name in each}
        for _ in range(times_each):
            for name, call in each.items():
                measured[name].append(seconds(call, gpu))
        medians = {name: statistics.median(values) for name, values in measured.items()}
        generation = each["recorded"]()
        found[f"{n_prompt}+{n}"] = {
            "plain_s": round(medians["plain"], 2),
            **{name: round(value / medians["plain"], 3) for name, value in medians.items() if name != "plain"},
            "repeats": times_each,
            "way": generation.about["recorded"],
            "difference": generation.about["difference"],
        }
    return found


def peak(way: str, n_prompt: int, n: int) -> dict[str, int]:
    """The peak of memory above the loaded model, in bytes, while one way runs; and what its result holds."""
    model, plain = models(False)
    call = ways(model, plain, n_prompt, n)[way]
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    result = call()
    held = 0
    if way == "output_attentions":
        held = sum(layer.numel() * layer.element_size() for step in result.attentions for layer in step)
    elif way == "recorded":
        stack = result.main
        held = sum(array.nbytes for array in (*stack.shares_by_layer, *stack.mean_by_layer, *stack.rows_by_layer))
    return {"peak": resident("VmHWM") - before, "held": held}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", default="", help="a number for each size")
    parser.add_argument("--sizes", default="")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    sizes = [tuple(map(int, size.split("+"))) for size in (given.sizes or (GPU_SIZES if given.gpu else CPU_SIZES)).split(",")]
    repeats = [int(n) for n in (given.repeats or ("5,5,5" if given.gpu else "3,1")).split(",")]
    results: dict[str, Any] = {"model": "8B shape, bf16" if given.gpu else "smollm2", "times": times(sizes, repeats, given.gpu)}
    if not given.gpu:
        results["memory"] = {
            f"{n_prompt}+{n}": {
                way: in_process(peak, way, n_prompt, n, give_back=True) for way in ("plain", "recorded", "output_attentions")
            }
            for n_prompt, n in sizes[:1]
        }
    give(results, given.output)


if __name__ == "__main__":
    main()
