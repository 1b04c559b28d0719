// A picture as a PDF of one page: the pixels of the drawing, three for each point of the screen, without loss.

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

async function deflated(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new CompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** width and height: of the page, in CSS pixels (96 to the inch). pixels: RGBA of the canvas. */
export async function pdfOf(pixels: ImageData, width: number, height: number): Promise<Blob> {
  const rgb = new Uint8Array(pixels.width * pixels.height * 3);
  for (let at = 0, to = 0; at < pixels.data.length; at += 4) {
    rgb[to++] = pixels.data[at];
    rgb[to++] = pixels.data[at + 1];
    rgb[to++] = pixels.data[at + 2];
  }
  const image = await deflated(rgb);
  const [w, h] = [width * 0.75, height * 0.75].map((side) => side.toFixed(2)); // points
  const draw = `q ${w} 0 0 ${h} 0 0 cm /Picture Do Q`;
  const look = `/Width ${pixels.width} /Height ${pixels.height} /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /FlateDecode`;
  const objects: Uint8Array[][] = [
    [encode("<< /Type /Catalog /Pages 2 0 R >>")],
    [encode("<< /Type /Pages /Kids [3 0 R] /Count 1 >>")],
    [encode(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${w} ${h}] /Contents 4 0 R /Resources << /XObject << /Picture 5 0 R >> >> >>`)],
    [encode(`<< /Length ${draw.length} >>\nstream\n${draw}\nendstream`)],
    [encode(`<< /Type /XObject /Subtype /Image ${look} /Length ${image.length} >>\nstream\n`), image, encode("\nendstream")],
  ];
  const parts: Uint8Array[] = [encode("%PDF-1.4\n")];
  const offsets: number[] = [];
  const written = (): number => parts.reduce((sum, part) => sum + part.length, 0);
  objects.forEach((object, i) => {
    offsets.push(written());
    parts.push(encode(`${i + 1} 0 obj\n`), ...object, encode("\nendobj\n"));
  });
  const table = written();
  const lines = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  parts.push(encode(`xref\n0 6\n0000000000 65535 f \n${lines}trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`));
  return new Blob(parts as BlobPart[], { type: "application/pdf" });
}
