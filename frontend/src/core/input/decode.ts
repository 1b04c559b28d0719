// From a transported array to numbers: base64 → inflate → one block (usually one head) at a time.

import type { ArrayEntry, Bytes } from "./contract";

export function toBytes(data: Bytes): Uint8Array {
  if (typeof data === "string") return fromBase64(data);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

function fromBase64(text: string): Uint8Array {
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array }).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

const LARGE = 1 << 20; // bytes of a compressed array that would hold up the page

/** A large array in pieces, so that the page can answer meanwhile; a small one at once, as the way through a Blob takes many turns. */
export async function inflate(compressed: Uint8Array): Promise<Uint8Array> {
  const inflater = new DecompressionStream("deflate");
  if (compressed.length > LARGE) {
    const stream = new Blob([compressed as BlobPart]).stream().pipeThrough(inflater);
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }
  const writer = inflater.writable.getWriter();
  const written = Promise.all([writer.write(compressed as BufferSource), writer.close()]);
  const [bytes] = await Promise.all([collected(inflater.readable), written]);
  return bytes;
}

async function collected(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const reader = stream.getReader();
  const parts: Uint8Array[] = [];
  for (let part = await reader.read(); !part.done; part = await reader.read()) parts.push(part.value);
  if (parts.length === 1) return parts[0];
  const bytes = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** An inflated array whose first axis is read block by block, so that a layer never has to be floats all at once. */
export interface Decoded {
  shape: number[];
  byteLength: number;
  /** Block i of the first axis as floats; the caller may keep and change it. `coarse` is quicker and within 0.005. */
  block(i: number, coarse?: boolean): Float32Array;
  /** Whole numbers as they are: block i of the first axis, always the same object. */
  whole?(i: number): Uint8Array | Uint16Array;
}

export async function decode(entry: ArrayEntry): Promise<Decoded> {
  const bytes = await inflate(toBytes(entry.data));
  const size = entry.shape.reduce((a, b) => a * b, 1);
  const step = entry.shape.length ? size / Math.max(1, entry.shape[0]) : 1;
  if (entry.dtype === "sqrt8") return decodeSqrt8(bytes, entry, size, step);
  if (entry.dtype === "float32") return decodeFloats(bytes, entry, size, step);
  if (entry.dtype === "bits") return decodeBits(bytes, entry, size, step);
  if (entry.dtype === "uint8" || entry.dtype === "uint16") return decodeWhole(bytes, entry, size, step);
  throw new Error(`An array of type ${String(entry.dtype)}; known are sqrt8, float32, bits, uint8 and uint16.`);
}

/** 16-bit numbers come as two planes, the high bytes first: they deflate better so. */
function decodeWhole(bytes: Uint8Array, entry: ArrayEntry, size: number, step: number): Decoded {
  const wide = entry.dtype === "uint16";
  if (bytes.length < size * (wide ? 2 : 1)) throw tooShort(bytes, entry);
  let values: Uint8Array | Uint16Array = bytes;
  if (wide) {
    values = new Uint16Array(size);
    for (let i = 0; i < size; i++) values[i] = (bytes[i] << 8) | bytes[size + i];
  }
  const kept = new Map<number, Uint8Array | Uint16Array>();
  const whole = (i: number) => {
    if (!kept.has(i)) kept.set(i, values.subarray(i * step, (i + 1) * step));
    return kept.get(i)!;
  };
  return { shape: entry.shape, byteLength: values.byteLength, block: (i) => Float32Array.from(whole(i)), whole };
}

function decodeSqrt8(bytes: Uint8Array, entry: ArrayEntry, size: number, step: number): Decoded {
  if (bytes.length < size) throw tooShort(bytes, entry);
  const levels = entry.levels ?? 255;
  const fineFrom = entry.fine_from ?? 256;
  const plain = new Float32Array(256);
  for (let b = 0; b < 256; b++) plain[b] = (b / levels) ** 2;
  const tailStart = tailOffsets(bytes, size, step, fineFrom);
  return {
    shape: entry.shape,
    byteLength: bytes.byteLength,
    block(i, coarse = false) {
      const values = new Float32Array(step);
      const start = i * step;
      if (coarse || fineFrom > 255) {
        for (let j = 0; j < step; j++) values[j] = plain[bytes[start + j]];
        return values;
      }
      let tail = tailStart[i];
      for (let j = 0; j < step; j++) {
        const b = bytes[start + j];
        if (b < fineFrom) values[j] = plain[b];
        else {
          const root = (b + (bytes[tail++] - 127.5) / 256) / levels;
          values[j] = root * root;
        }
      }
      return values;
    },
  };
}

/** Where each block's part of the tail begins: after the first plane, one byte for every earlier b ≥ fineFrom. */
function tailOffsets(bytes: Uint8Array, size: number, step: number, fineFrom: number): number[] {
  const offsets: number[] = [];
  let at = size;
  for (let start = 0; start < size; start += step) {
    offsets.push(at);
    if (fineFrom > 255) continue;
    for (let j = start; j < start + step; j++) if (bytes[j] >= fineFrom) at++;
  }
  if (fineFrom <= 255 && bytes.length < at) throw new Error(`${bytes.length} bytes, but the fine plane ends at ${at}.`);
  return offsets;
}

const tooShort = (bytes: Uint8Array, entry: ArrayEntry): Error =>
  new Error(`${bytes.length} bytes for an array of shape ${entry.shape.join(" × ")}.`);

function decodeFloats(bytes: Uint8Array, entry: ArrayEntry, size: number, step: number): Decoded {
  if (bytes.length < size * 4) throw tooShort(bytes, entry);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return {
    shape: entry.shape,
    byteLength: bytes.byteLength,
    block: (i) => Float32Array.from({ length: step }, (_, j) => view.getFloat32((i * step + j) * 4, true)),
  };
}

function decodeBits(bytes: Uint8Array, entry: ArrayEntry, size: number, step: number): Decoded {
  if (bytes.length * 8 < size) throw tooShort(bytes, entry);
  const bit = (at: number) => (bytes[at >> 3] >> (at & 7)) & 1;
  return {
    shape: entry.shape,
    byteLength: bytes.byteLength,
    block: (i) => Float32Array.from({ length: step }, (_, j) => bit(i * step + j)),
  };
}
