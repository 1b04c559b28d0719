"""`el.circuit`: the heads that carry an answer, and the connections between them, from two texts that differ in it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args, overload

import numpy as np
import torch

from eyeline.errors import Advice, EyelineError, ModelError, TextError, TraceError, nearest
from eyeline.heads import HeadRef
from eyeline.look.interventions import Head, Intervention, Patch
from eyeline.measure.causes.nodes import LayerEnds, Piece, layer_ends, own_slopes, run_in_pieces
from eyeline.measure.causes.options import CircuitFacts, CircuitOptions, EdgeMethod
from eyeline.measure.causes.result import ANSWER, EMBEDDINGS, Node
from eyeline.measure.runs.options import chosen
from eyeline.measure.runs.progress import ReportProgress, ReportStep, Steps
from eyeline.measure.runs.run import Run
from eyeline.measure.runs.table import Table, head_table
from eyeline.measure.statistics.prepare import corpus_facts, provenance
from eyeline.messages import Message
from eyeline.models.changes import full_name
from eyeline.models.inputs import Example
from eyeline.models.layout import Slot
from eyeline.models.model import Model, check_model
from eyeline.models.objective import AnsweredText, ask, check_one_answer
from eyeline.text.corpora.corpus import Corpus
from eyeline.text.tokenized import TokenizedText

#: How many tokens of the inputs at which EAP-IG takes gradients go through the model together.
STEP_TOKENS = 512


def circuit(
    model: Model,
    clean: str,
    corrupt: str,
    *,
    # from CircuitOptions, as the docstring's lines on them: make generated
    answer: str | int | None = None,
    against: str | int | None = None,
    method: EdgeMethod = "eap-ig",
    steps: int = 5,
    positions: bool = True,
    progress: ReportProgress | None = None,
) -> Run:
    """Which heads carry the answer, and which heads and feed-forward blocks feed which.

    clean, corrupt  two texts with the same number of tokens, which differ in what the answer depends on
    answer          the clean text's answer: a token, or a label of a classifier; the model's own first choice unless given. The metric is
                    logit(answer) − logit(against)
    against         the same of the corrupt text
    method          how edges are scored: "eap", or "eap-ig" with `steps` inputs between the two texts. Heads and feed-forward blocks (MLPs)
                    are nodes; with "eap-through-mlps" and "eap-ig-through-mlps" heads alone: an edge may then pass through MLPs
    steps           of eap-ig: inputs between the two texts at which gradients are taken
    positions       also patch every head at every token: heads × tokens passes

    Tables: `patching` (a head patched from the clean text into the corrupt one: the share of the answer that comes back),
    `patching_positions` (the same at one token), `circuit` (edges by estimate, strongest first).
    """
    check_model(model)
    options = chosen(CircuitOptions, locals())
    started = time.monotonic()
    reports = Steps(progress, 2)
    pair = contrast(model, clean, corrupt, answer, against)
    edges = edge_scores(pair, method, steps, reports.begin("edges"))
    patched = patch_heads(pair, positions=positions, report=reports.begin("patching"))
    tables = {"patching": _heads(patched), "circuit": edges.table()}
    if patched.positions is not None:
        tables["patching_positions"] = _positions(patched, pair.corrupt_text.text)
    seconds = time.monotonic() - started
    options = replace(
        options, clean=clean, corrupt=corrupt, answer=pair.clean_text.answer.name, against=pair.corrupt_text.answer.name,
        clean_metric=pair.clean, corrupt_metric=pair.corrupt,
    )  # fmt: skip
    facts = replace(
        provenance(CircuitFacts, model, corpus_facts(Corpus.of([clean, corrupt])), options),
        counts={"texts": 2, "tokens": 2 * len(pair.clean_text.text)},
        seconds={"all": round(seconds, 3)},
    )
    return Run(facts, tables, model.trace(clean, keep={"weights"}))


def _heads(patched: Patched) -> Table:
    records = [(*name, float(share)) for name, share in zip(patched.names, patched.heads, strict=True)]
    return head_table(records, ("restored",))


def _positions(patched: Patched, text: TokenizedText) -> Table:
    if patched.positions is None:
        return Table({})
    records = [
        (*name, position, text.tokens[position], float(share))
        for name, shares in zip(patched.names, patched.positions, strict=True)
        for position, share in enumerate(shares)
    ]
    return head_table(records, ("position", "token", "restored"))


# ---- Two texts of the same length with different answers


#: Where the difference of logits changes by less than this between the two texts, patching has nothing to measure.
LEAST_DIFFERENCE = 1e-4


@dataclass(frozen=True)
class Contrast:
    """A clean text, a corrupt one, and two answers: `right` belongs to the clean text, `wrong` to the corrupt one.

    The metric is logit(right) − logit(wrong), where the answer is read. `clean` and `corrupt` are its values on the two texts.
    """

    model: Model
    clean_text: AnsweredText
    corrupt_text: AnsweredText
    wrong: int
    clean: float
    corrupt: float

    @property
    def examples(self) -> tuple[Example, Example]:
        return self.clean_text.example, self.corrupt_text.example

    def metric(self, logits: torch.Tensor) -> torch.Tensor:
        """[text], of logits [text, token, vocabulary] or [text, label]"""
        return self.metric_of(self.clean_text.answer.row(logits))

    def metric_of(self, row: torch.Tensor) -> torch.Tensor:
        """[text], of the logits where the answer is read: [text, vocabulary or label]"""
        return row[:, self.clean_text.answer.index] - row[:, self.wrong]

    def restored(self, values: torch.Tensor) -> torch.Tensor:
        """The share of the answer that came back: 0 on the corrupt text, 1 on the clean one."""
        return (values - self.corrupt) / (self.clean - self.corrupt)


def contrast(model: Model, clean: str, corrupt: str, answer: str | int | None = None, against: str | int | None = None) -> Contrast:
    """Read both texts and both answers. Without `answer` and `against`, they are the model's own answers to the two texts."""
    if not model.layout.recorded:
        raise ModelError(Message("refusal.nothing_changed", model=model.name, why=model.layout.why_weights_only))
    check_one_answer(model)
    texts = [model.read(text) for text in (clean, corrupt)]
    lengths = [len(example.source) for example in texts]
    if lengths[0] != lengths[1]:
        shown = " / ".join(" ".join(example.source.tokens) for example in texts)
        raise TextError(
            f"The clean text has {lengths[0]} tokens, the corrupt one {lengths[1]}: positions must match to be patched.",
            f"Tokens: {shown}",
            "Replace words by others with the same number of tokens.",
        )
    if texts[0].source.ids == texts[1].source.ids:
        raise TextError("The clean and the corrupt text are the same.", "Change the words on which the answer depends.")
    right, wrong = ask(model, texts[0], answer), ask(model, texts[1], against)
    if right.answer.index == wrong.answer.index:
        raise TextError(
            f"Both answers are {right.answer.name!r}.",
            Advice(
                "Give two answers that differ: answer=…, against=….",
                "Give two answers that differ: --answer, --against.",
                Message("refusal.advice.two_answers"),
            ),
        )
    if right.answer.position != wrong.answer.position:
        raise TextError("The two answers are read at different positions.", "Put the mask at the same token of both texts.")
    measured = Contrast(model, right, wrong, wrong.answer.index, 0.0, 0.0)
    values = []
    for text in (right, wrong):
        with torch.no_grad():
            values.append(float(measured.metric(model._passes.output([text.example], inputs=text.inputs).logits)[0]))
    if abs(values[0] - values[1]) < LEAST_DIFFERENCE:
        raise TextError(
            f"{model.name} does not distinguish the texts: {right.answer.name!r} against {wrong.answer.name!r} is {values[0]:.4f} on both.",
            "Choose texts or answers that change its decision.",
        )
    return Contrast(model, right, wrong, wrong.answer.index, *values)


# ---- Activation patching


HeadOutputs = dict[HeadRef, np.ndarray]


@dataclass(frozen=True)
class Patched:
    """The share of the answer that each patch restores: the corrupt text is run with head outputs from the clean one.

    heads       [head of the model, in order]: the whole head, at every position
    positions   [head, token]: the head at one position alone; None where it was not requested
    """

    names: tuple[HeadRef, ...]
    heads: np.ndarray
    positions: np.ndarray | None


def head_outputs(contrast: Contrast) -> tuple[HeadOutputs, HeadOutputs]:
    """What every head writes on the clean and on the corrupt text: [token, dim]."""
    return _written(contrast, 0), _written(contrast, 1)


def _written(contrast: Contrast, which: int) -> HeadOutputs:
    text = (contrast.clean_text, contrast.corrupt_text)[which]
    written: HeadOutputs = {}

    def receive(slot: Slot, output: torch.Tensor) -> None:
        for head in range(slot.n_heads):
            written[HeadRef(slot.stack, slot.layer, head)] = output[0, :, head].detach().float().cpu().numpy()

    contrast.model._passes.output([text.example], inputs=text.inputs, receive=receive)
    return written


def patch_heads(contrast: Contrast, *, positions: bool = True, report: ReportStep | None = None) -> Patched:
    """Patch every head, and with `positions` every head at every token, from the clean text into the corrupt one."""
    clean = _written(contrast, 0)
    names = tuple(clean)
    patches: list[list[Intervention]] = [[Patch({name: clean[name]}, heads=[name])] for name in names]
    n_tokens = len(contrast.corrupt_text.text)
    if positions:
        patches += [[Patch({name: clean[name]}, heads=[name], positions=[token])] for name in names for token in range(n_tokens)]
    values = run_patched(contrast, patches, report)
    shares = contrast.restored(torch.tensor(values)).numpy()
    return Patched(names, shares[: len(names)], shares[len(names) :].reshape(len(names), n_tokens) if positions else None)


def run_patched(contrast: Contrast, patches: Sequence[Sequence[Intervention]], report: ReportStep | None = None) -> np.ndarray:
    """The metric of the corrupt text under each list of interventions. Layers below the patched one are computed once."""
    passes, text = contrast.model._passes, contrast.corrupt_text
    _, stored = passes.store([text.example], inputs=text.inputs)
    order = sorted(range(len(patches)), key=lambda i: _first_layer(patches[i]))  # so that the patches of a batch start at similar layers
    values = np.zeros(len(patches))
    variants, answer = [patches[i] for i in order], text.answer
    for part, output in passes.variants([text.example], variants, inputs=text.inputs, stored=stored, at=answer.at(1)):
        values[order[part]] = contrast.metric_of(answer.row_at(output.logits).float()).double().cpu().numpy()
        if report is not None:
            report(part.stop, len(order))
    return values


def _first_layer(patches: Sequence[Intervention]) -> int:
    return min(head[-2] for patch in patches for head in (patch.heads or [(0, 0)]))


def patch_path(contrast: Contrast, sender: Head, receiver: Head) -> float:
    """Path patching (Wang et al. 2022): how much of the answer is lost if only `receiver` reads the corrupt output of `sender`.

    The clean text is run; `sender` writes what it wrote on the corrupt text, and every other head writes what it wrote on the clean one, so
    that the change reaches `receiver` without passing through another head. What `receiver` then writes is patched into a clean run.
    The share of the answer that is lost: 0, the path carries nothing; 1, everything.
    """
    layout, name = contrast.model.layout, contrast.model.name
    sender, receiver = full_name(sender, layout, name), full_name(receiver, layout, name)
    if sender.layer >= receiver.layer:
        raise TraceError(f"{sender} does not feed {receiver}.", "A head feeds heads of higher layers: name the sender first.")
    clean, corrupt = head_outputs(contrast)
    text, passes = contrast.clean_text, contrast.model._passes
    frozen: dict[Head, np.ndarray] = {**{name: z for name, z in clean.items() if name != receiver}, sender: corrupt[sender]}
    received: list[np.ndarray] = []

    def receive(slot: Slot, output: torch.Tensor) -> None:
        if (slot.stack, slot.layer) == (receiver.stack, receiver.layer):
            received.append(output[0, :, receiver.head].detach().float().cpu().numpy())

    passes.output([text.example], [[Patch(frozen, heads=list(frozen))]], inputs=text.inputs, receive=receive)
    logits = passes.output([text.example], [[Patch({receiver: received[0]}, heads=[receiver])]], inputs=text.inputs).logits
    return 1 - float(contrast.restored(contrast.metric(logits.float()))[0])


# ---- Edge attribution


Input = Literal["queries", "keys", "values", "gates", "input", "logits"]

#: What a head reads, in the order in which its attention is given them.
INPUTS: tuple[Input, ...] = ("queries", "keys", "values", "gates")

EDGE_METHODS = get_args(EdgeMethod)
#: With this ending, feed-forward blocks are no nodes: they belong to the connections between heads.
THROUGH = "-through-mlps"


class Edge(NamedTuple):
    """One connection and the share of the answer that it carries, by estimate.

    sender     a head, a feed-forward block, or "embeddings"
    receiver   a head, a feed-forward block, or "answer"; where heads share keys and values, the first head of those that share them
    reads      what of the receiver: a head's queries, keys, values or gates (of models that have some); the "input" of a feed-forward
               block; "logits" for the answer
    """

    sender: Node
    receiver: Node
    reads: Input
    score: float


@dataclass(frozen=True)
class Edges(Sequence[Edge]):
    """Every edge of a model, strongest first (by size). In columns: a model has hundreds of thousands.

    senders, receivers   the nodes, each once, a receiver with what is read of it
    ends    for each edge which of them: [edge, (sender, receiver)]
    scores  [edge]
    """

    senders: Sequence[Node]
    receivers: Sequence[tuple[Node, Input]]
    ends: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, blocks: Iterable[EdgeScores], scale: float) -> Edges:
        """The edges of all blocks, their scores divided by `scale`."""
        senders: dict[Node, int] = {}
        receivers: dict[tuple[Node, Input], int] = {}
        ends, scores = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0)]
        for block in blocks:
            columns = [senders.setdefault(sender, len(senders)) for sender in block.senders]
            rows = [receivers.setdefault(receiver, len(receivers)) for receiver in block.receivers]
            ends.append(np.stack([np.tile(columns, len(rows)), np.repeat(rows, len(columns))], -1))
            scores.append(block.values.ravel() / scale)
        together = np.concatenate(scores)
        order = np.argsort(-np.abs(together), kind="stable")
        return cls(tuple(senders), tuple(receivers), np.concatenate(ends)[order], together[order])

    def __len__(self) -> int:
        return len(self.scores)

    @overload
    def __getitem__(self, index: int) -> Edge: ...
    @overload
    def __getitem__(self, index: slice) -> list[Edge]: ...
    def __getitem__(self, index: int | slice) -> Edge | list[Edge]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        sender, receiver = self.ends[index]
        node, reads = self.receivers[receiver]
        return Edge(self.senders[sender], node, reads, float(self.scores[index]))

    def table(self) -> Table:
        """sender, receiver, reads, score"""
        senders, nodes, reads = list(map(str, self.senders)), [str(node) for node, _ in self.receivers], [r for _, r in self.receivers]
        by_sender, by_receiver = self.ends.T.tolist()
        return Table(
            {
                "sender": [senders[i] for i in by_sender],
                "receiver": [nodes[i] for i in by_receiver],
                "reads": [reads[i] for i in by_receiver],
                "score": self.scores.tolist(),
            }
        )


def edge_scores(contrast: Contrast, method: EdgeMethod = "eap-ig", steps: int = 5, report: ReportStep | None = None) -> Edges:
    """Which node feeds which: every edge of the model, strongest first (by size).

        score(u → v) = (z_u clean − z_u corrupt) · ∂m/∂(what v reads)

    as a share of the metric's difference between the two texts. An edge goes from what a sender writes into the residual stream (the token
    embeddings, a head, a feed-forward block) to what a receiver reads of it (a head for its queries, keys or values; a feed-forward block;
    the answer), not through another node. All edges are estimated at once, with one forward and one backward pass for each step.

    method   eap: the gradient is taken on the corrupt text; eap-ig: it is averaged over `steps` inputs between the two texts;
             eap-through-mlps, eap-ig-through-mlps: between heads alone, along connections that may pass through feed-forward blocks
    report   called after each group of inputs at which gradients were taken
    Sources: EAP, Syed et al. 2023; EAP-IG, Hanna et al. 2024.
    """
    if method not in EDGE_METHODS:
        raise EyelineError(f"method={method!r}.", nearest(str(method), EDGE_METHODS), f"Choices: {', '.join(EDGE_METHODS)}.")
    if steps < 1:
        raise EyelineError(f"steps={steps}.", "Use at least one step.")
    nodes = _Nodes.of(contrast, mlps=not method.endswith(THROUGH))
    shares = [(i + 0.5) / steps for i in range(steps)] if "-ig" in method else [0.0]
    together = max(1, STEP_TOKENS // len(contrast.corrupt_text.text))
    total: dict[tuple[int, int, int], EdgeScores] = {}
    for first in range(0, len(shares), together):
        part = shares[first : first + together]
        for key, scores in nodes.scores(part).items():
            total[key] = scores if key not in total else replace(scores, values=total[key].values + scores.values)
        if report is not None:
            report(first + len(part), len(shares))
    return Edges.of(total.values(), len(shares) * (contrast.clean - contrast.corrupt))


@dataclass(frozen=True)
class EdgeScores:
    """Scores of the edges from one piece to another, or to the answer: values [receiver, sender]."""

    senders: Sequence[Node]
    receivers: Sequence[tuple[Node, Input]]
    values: np.ndarray


@dataclass(frozen=True)
class _Nodes:
    """The nodes of a model on the two texts of a contrast.

    ends     the embeddings of the clean and of the corrupt text: [1, token, hidden] each
    senders  who writes: the embeddings, then every piece in the order of the pass
    changes  for every sender, clean minus corrupt, what each name adds: [name, token · hidden]
    """

    contrast: Contrast
    layers: list[LayerEnds]
    mlps: bool
    ends: tuple[torch.Tensor, torch.Tensor]
    senders: list[tuple[Node, ...]]
    changes: list[torch.Tensor]

    @classmethod
    def of(cls, contrast: Contrast, *, mlps: bool) -> _Nodes:
        model, inputs = contrast.model, contrast.corrupt_text.inputs
        layers = layer_ends(model, inputs)
        embed = model._hf.get_input_embeddings()
        clean, corrupt = (embed(text.inputs["input_ids"]).detach() for text in (contrast.clean_text, contrast.corrupt_text))
        both = run_in_pieces(model, torch.cat([clean, corrupt]), inputs, layers, mlps=mlps)
        senders: list[tuple[Node, ...]] = [(EMBEDDINGS,), *(piece.names for piece in both.pieces)]
        changes = [(clean - corrupt).flatten(1)]
        for piece in both.pieces:
            written, heads = (None if t is None else (t[0] - t[1]).detach() for t in (piece.leaf, piece.heads))
            changes.append(piece.added(written, heads).flatten(1))  # type: ignore[arg-type]
        return cls(contrast, layers, mlps, (clean, corrupt), senders, changes)

    @torch.enable_grad()
    def scores(self, shares: Sequence[float]) -> dict[tuple[int, int, int], EdgeScores]:
        """The scores of all edges, summed over inputs between the corrupt (0) and the clean text (1): (sender, receiver, source) → scores.

        Senders and receivers are counted as in `senders`; the answer is one more. A source is what a receiver reads, in its order.
        """
        clean, corrupt = self.ends
        text = self.contrast.corrupt_text
        between = corrupt + torch.tensor(shares, dtype=clean.dtype, device=clean.device)[:, None, None] * (clean - corrupt)
        run = run_in_pieces(self.contrast.model, between, text.inputs, self.layers, text.answer, mlps=self.mlps)
        leaves = [run.embeddings, *(piece.leaf for piece in run.pieces)]
        slopes: list[torch.Tensor | None] = [None] * len(leaves)  # of the metric by each leaf, from all receivers above it
        metric = self.contrast.metric_of(run.row_of_answer.float()).sum()
        answer = self._along(metric, torch.ones(1, device=metric.device), leaves, slopes, [(ANSWER, "logits")])
        edges = {(sender, len(leaves), 0): scores for sender, scores in answer.items()}
        for number in range(len(run.pieces), 0, -1):
            piece, slope = run.pieces[number - 1], slopes[number]
            if slope is None:
                continue  # nothing above reads it
            own = own_slopes(piece, slope, leaves[:number], self.contrast.model.name)
            for which, (source, row) in enumerate(zip(piece.sources, own, strict=True)):
                heads = len(own) > 1
                rows = _one_head_at_a_time(row) if heads else row[None]
                receivers = _receivers(piece, INPUTS[which] if heads else "input", len(rows))
                below = self._along(source, rows, leaves[:number], slopes, receivers)
                edges |= {(sender, number, which): scores for sender, scores in below.items()}
        return edges

    def _along(
        self,
        output: torch.Tensor,
        rows: torch.Tensor,
        leaves: list[torch.Tensor],
        slopes: list[torch.Tensor | None],
        receivers: Sequence[tuple[Node, Input]],
    ) -> dict[int, EdgeScores]:
        """Gradients of the receivers, a row for each, along direct connections to the leaves below: sender → scores; added to `slopes`."""
        gradients = torch.autograd.grad(output, leaves, rows, retain_graph=True, allow_unused=True, is_grads_batched=True)
        scores: dict[int, EdgeScores] = {}
        alike: dict[int, list[int]] = {}  # through a plain sum the same gradient reaches every leaf
        for index, gradient in enumerate(gradients):
            if gradient is not None:
                alike.setdefault(gradient.data_ptr(), []).append(index)
        for indices in alike.values():
            gradient = gradients[indices[0]]  # [receiver, step, token, …]
            of_leaf = gradient.sum(0)
            of_text = (gradient[:, 0] if gradient.shape[1] == 1 else gradient.sum(1)).flatten(1)
            changes = self.changes[indices[0]] if len(indices) == 1 else torch.cat([self.changes[index] for index in indices])
            values = (of_text @ changes.T).double().cpu().numpy()  # [receiver, name]
            start = 0
            for index in indices:
                known, end = slopes[index], start + len(self.changes[index])
                slopes[index] = of_leaf.clone() if known is None else known.add_(of_leaf)
                scores[index] = EdgeScores(self.senders[index], receivers, values[:, start:end])
                start = end
        return scores


def _receivers(piece: Piece, reads: Input, size: int) -> list[tuple[Node, Input]]:
    """The names of a piece as receivers; where several heads share keys or values, the first of them."""
    return [(piece.names[number * len(piece.names) // size], reads) for number in range(size)]


def _one_head_at_a_time(slope: torch.Tensor) -> torch.Tensor:
    """A gradient [step, head, token, dim] as a batch of which each row has one head."""
    heads = slope.shape[1]
    batch = slope.new_zeros(heads, *slope.shape)  # [row, step, head, token, dim]
    each = torch.arange(heads)
    batch[each, :, each] = slope.transpose(0, 1)
    return batch
