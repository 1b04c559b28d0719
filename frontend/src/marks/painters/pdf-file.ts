// The objects of a PDF file of one page, and the file around them.

/** Text in which each character is one byte. */
export const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

async function deflated(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new CompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export class PdfFile {
  private objects: Uint8Array[][] = [];

  /** The number under which others refer to this object. */
  add(text: string): number {
    return this.objects.push([bytesOf(text)]);
  }

  /** Packed data with the entries of its dictionary. */
  async addStream(entries: string, data: Uint8Array): Promise<number> {
    const packed = await deflated(data);
    const head = `<< ${entries} /Filter /FlateDecode /Length ${packed.length} >>\nstream\n`;
    return this.objects.push([bytesOf(head), packed, bytesOf("\nendstream")]);
  }

  /** The whole file; root: the number of the catalog. */
  written(root: number): Blob {
    const parts: Uint8Array[] = [bytesOf("%PDF-1.4\n")];
    const offsets: number[] = [];
    let size = parts[0].length;
    const put = (part: Uint8Array) => {
      parts.push(part);
      size += part.length;
    };
    this.objects.forEach((object, i) => {
      offsets.push(size);
      for (const part of [bytesOf(`${i + 1} 0 obj\n`), ...object, bytesOf("\nendobj\n")]) put(part);
    });
    const count = offsets.length + 1;
    const table = size;
    const lines = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
    put(bytesOf(`xref\n0 ${count}\n0000000000 65535 f \n${lines}`));
    put(bytesOf(`trailer\n<< /Size ${count} /Root ${root} 0 R >>\nstartxref\n${table}\n%%EOF\n`));
    return new Blob(parts as BlobPart[], { type: "application/pdf" });
  }
}
