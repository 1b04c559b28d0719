"""The one-pass kernel: softmax attention and, beside its output, the entropy and the masses of every row, in Triton.

An online softmax keeps for each row the running maximum m, the sum l = Σ e^(s−m) and the output Σ e^(s−m)·v. This one also keeps

    t = Σ e^(s−m) · (s − m)         rescaled, when m grows to m′, as  t ← (t + (m − m′)·l) · e^(m−m′)
    M = Σ_j e^(s_j−m) · C[j, :]      C: [key, set], the sets of keys

so that entropy = log l − t/l and mass = M/l. Scores are kept in base 2, in which a GPU has its exponential.
"""

# ruff: noqa: N803, SIM108 - names of what is fixed when a kernel is compiled; a branch that is not taken must not be compiled

from __future__ import annotations

import triton
import triton.language as tl

#: Hidden scores, before they are scaled: finite, so that 0 · score stays 0. The running maximum starts above them, whatever the scale.
HIDDEN = tl.constexpr(-1e36)
LOWEST = tl.constexpr(-1e30)
LN_2 = tl.constexpr(0.6931471805599453)


@triton.jit
def _visit(
    q, m, total, t, acc, masses, keys, values, sets, mask, rows, first, last, n_queries, n_keys, scale,
    key_stride, value_stride, set_stride, mask_row, mask_key,
    DIM: tl.constexpr, WIDTH: tl.constexpr, SETS: tl.constexpr, CAUSAL: tl.constexpr, MASKED: tl.constexpr, EDGE: tl.constexpr,
    BLOCK_K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Process the keys from `first` to `last`. EDGE: some of them may be hidden by the causal mask or lie after the last key."""
    dims = tl.arange(0, WIDTH)
    columns = tl.arange(0, SETS)
    tile = tl.arange(0, BLOCK_K)
    k_tile = tile[None, :] * key_stride + dims[:, None]
    v_tile = tile[:, None] * value_stride + dims[None, :]
    c_tile = tile[:, None] * set_stride + columns[None, :]
    seen_from = mask + rows.to(tl.int64)[:, None] * mask_row
    keys += tl.cast(first, tl.int64) * key_stride
    values += tl.cast(first, tl.int64) * value_stride
    sets += tl.cast(first, tl.int64) * set_stride
    for start in range(first, last, BLOCK_K):
        at = start + tile
        there = at < n_keys
        if EDGE or DIM != WIDTH:
            k = tl.load(keys + k_tile, mask=there[None, :] & (dims[:, None] < DIM), other=0.0)
        else:
            k = tl.load(keys + k_tile)
        s = tl.dot(q, k, input_precision=PRECISION)
        if MASKED:
            inside = (rows[:, None] < n_queries) & there[None, :]
            s = tl.where(tl.load(seen_from + at[None, :] * mask_key, mask=inside, other=0) != 0, s, HIDDEN)
        if EDGE:
            visible = there[None, :]
            if CAUSAL:
                visible = visible & (at[None, :] <= rows[:, None])
            s = tl.where(visible, s, HIDDEN)
        top = tl.maximum(m, tl.max(s, 1) * scale)
        s = s * scale - top[:, None]
        e = tl.exp2(s)
        rescale = tl.exp2(m - top)
        t = (t + (m - top) * total) * rescale + tl.sum(e * s, 1)
        total = total * rescale + tl.sum(e, 1)
        m = top
        if EDGE or DIM != WIDTH:
            v = tl.load(values + v_tile, mask=there[:, None] & (dims[None, :] < DIM), other=0.0)
        else:
            v = tl.load(values + v_tile)
        e = e.to(v.dtype)
        acc = tl.dot(e, v, acc * rescale[:, None], input_precision=PRECISION)
        if EDGE:
            c = tl.load(sets + c_tile, mask=there[:, None], other=0.0)
        else:
            c = tl.load(sets + c_tile)
        masses = tl.dot(e, c, masses * rescale[:, None], input_precision=PRECISION)
        keys += BLOCK_K * key_stride
        values += BLOCK_K * value_stride
        sets += BLOCK_K * set_stride
    return m, total, t, acc, masses


@triton.jit
def _at_offset(q, lse, keys, mask, rows, n_queries, n_keys, scale, key_stride, mask_row, mask_key, OFFSET: tl.constexpr,
               DIM: tl.constexpr, WIDTH: tl.constexpr, CAUSAL: tl.constexpr, MASKED: tl.constexpr):  # fmt: skip
    """The weight of the key OFFSET positions after each row, 0 where there is no such key."""
    dims = tl.arange(0, WIDTH)
    at = rows + OFFSET
    there = (at >= 0) & (at < n_keys) & (rows < n_queries)
    k = tl.load(keys + at.to(tl.int64)[:, None] * key_stride + dims[None, :], mask=there[:, None] & (dims[None, :] < DIM), other=0.0)
    s = tl.sum(q.to(tl.float32) * k.to(tl.float32), 1) * scale
    if CAUSAL and OFFSET > 0:
        there = rows < 0
    if MASKED:
        there = there & (tl.load(mask + rows.to(tl.int64) * mask_row + at * mask_key, mask=there, other=0) != 0)
    return tl.where(there, tl.exp2(s - lse), 0.0)


@triton.jit
def attention_with_numbers(
    queries, keys, values, sets, mask, output, shares, entropies, log_sums, scale,
    q_text, q_head, q_row, k_text, k_head, k_row, v_text, v_head, v_row, set_text, set_row, mask_text, mask_head, mask_row, mask_key,
    o_text, o_row, o_head, n_heads, heads_a_key, n_queries, n_keys, n_sets,
    DIM: tl.constexpr, WIDTH: tl.constexpr, SETS: tl.constexpr, CAUSAL: tl.constexpr, MASKED: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One block of rows of one head of one text. Shares of a row: its masses, then its weights at the offsets 1, -1 and 0."""
    block = tl.program_id(0)
    if CAUSAL:
        block = tl.num_programs(0) - 1 - block  # the longest first
    head = tl.program_id(1).to(tl.int64)
    text = tl.program_id(2).to(tl.int64)
    queries += text * q_text + head * q_head
    keys += text * k_text + head // heads_a_key * k_head
    values += text * v_text + head // heads_a_key * v_head
    sets += text * set_text
    mask += text * mask_text + head * mask_head
    rows = block * BLOCK_Q + tl.arange(0, BLOCK_Q)
    dims = tl.arange(0, WIDTH)
    columns = tl.arange(0, SETS)
    own = rows[:, None].to(tl.int64)
    inside = (rows[:, None] < n_queries) & (dims[None, :] < DIM)
    q = tl.load(queries + own * q_row + dims[None, :], mask=inside, other=0.0)

    m = tl.full([BLOCK_Q], LOWEST, tl.float32)
    total = tl.zeros([BLOCK_Q], tl.float32)
    t = tl.zeros([BLOCK_Q], tl.float32)
    acc = tl.zeros([BLOCK_Q, WIDTH], tl.float32)
    masses = tl.zeros([BLOCK_Q, SETS], tl.float32)
    end = n_keys
    whole = n_keys // BLOCK_K * BLOCK_K  # up to here every key exists, and none is ahead of a row
    if CAUSAL:
        end = tl.minimum(n_keys, (block + 1) * BLOCK_Q)
        whole = tl.minimum(whole, block * BLOCK_Q // BLOCK_K * BLOCK_K)
    m, total, t, acc, masses = _visit(
        q, m, total, t, acc, masses, keys, values, sets, mask, rows, 0, whole, n_queries, n_keys, scale,
        k_row, v_row, set_row, mask_row, mask_key, DIM, WIDTH, SETS, CAUSAL, MASKED, False, BLOCK_K, PRECISION,
    )  # fmt: skip
    m, total, t, acc, masses = _visit(
        q, m, total, t, acc, masses, keys, values, sets, mask, rows, whole, end, n_queries, n_keys, scale,
        k_row, v_row, set_row, mask_row, mask_key, DIM, WIDTH, SETS, CAUSAL, MASKED, True, BLOCK_K, PRECISION,
    )  # fmt: skip

    sees = total > 0
    total = tl.where(sees, total, 1.0)
    inverse = tl.where(sees, 1.0 / total, 0.0)
    log_sum = m + tl.log2(total)
    there = rows < n_queries
    tl.store(output + text * o_text + own * o_row + head * o_head + dims[None, :], acc * inverse[:, None], mask=inside)
    row = (text * n_heads + head) * n_queries + rows
    tl.store(entropies + row, tl.where(sees, tl.maximum((tl.log2(total) - t * inverse) * LN_2, 0.0), 0.0), mask=there)
    tl.store(log_sums + row, log_sum * LN_2, mask=there)
    numbers = shares + row * (n_sets + 3)
    tl.store(numbers[:, None] + columns[None, :], masses * inverse[:, None], mask=there[:, None] & (columns[None, :] < n_sets))
    for offset in tl.static_range(-1, 2):
        weight = _at_offset(
            q, log_sum, keys, mask, rows, n_queries, n_keys, scale, k_row, mask_row, mask_key, offset, DIM, WIDTH, CAUSAL, MASKED
        )
        tl.store(numbers + n_sets + (offset + 2 if offset < 1 else 0), weight, mask=there)
