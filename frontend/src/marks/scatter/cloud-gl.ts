// Scatters painted by WebGL: one context for all views of a page, one buffer a head, pictures copied to the canvases of the views.

import { DEPTH, LARGER, drawingOrder, isLarge, type Plot } from "./cloud";

const VERTEX = `#version 300 es
in vec3 position; in vec4 colour;
uniform vec4 rowX, rowY, rowZ; uniform vec2 box; uniform float size; uniform int keysFrom; uniform int pass;
out vec4 tint; flat out int diamond; out float across;
void main() {
  vec4 p = vec4(position, 1.0);
  bool large = colour.a > 0.998;
  float depth = dot(rowZ, p);
  across = size * (large ? ${LARGER.toFixed(2)} : 1.0) * (1.0 + ${DEPTH.toFixed(2)} * depth);
  vec4 inside = vec4(dot(rowX, p) / box.x * 2.0 - 1.0, 1.0 - dot(rowY, p) / box.y * 2.0, 0.0, 1.0);
  gl_Position = pass == 2 || (pass == 1) == large ? inside : vec4(2.0, 2.0, 2.0, 1.0);
  diamond = gl_VertexID >= keysFrom ? 1 : 0;
  gl_PointSize = max(1.0, across * (diamond == 1 ? 1.26 : 1.0) + 1.0);
  tint = colour;
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 tint; flat in int diamond; in float across;
out vec4 painted;
void main() {
  float wide = max(1.0, across * (diamond == 1 ? 1.26 : 1.0) + 1.0);
  vec2 d = abs(gl_PointCoord - 0.5) * wide;
  float reach = diamond == 1 ? (d.x + d.y) * 0.7071 - across * 0.443 : length(d) - across * 0.5;
  float a = clamp(0.5 - reach, 0.0, 1.0) * min(1.0, across * across) * tint.a;
  painted = vec4(tint.rgb * a, a);
}`;

interface Painter {
  canvas: OffscreenCanvas;
  gl: WebGL2RenderingContext;
  program: WebGLProgram;
  uniform: (name: string) => WebGLUniformLocation | null;
  buffers: WeakMap<ArrayBufferView, WebGLBuffer>;
  indices: Map<number, WebGLBuffer>;
}

let painter: Painter | null | undefined;

/** The page's painter, or null where WebGL 2 is missing or was lost. */
function open(): Painter | null {
  if (painter !== undefined && !painter?.gl.isContextLost()) return painter;
  painter = null;
  const canvas = new OffscreenCanvas(1, 1);
  const gl = canvas.getContext("webgl2", {
    antialias: false,
    depth: false,
    stencil: false,
    powerPreference: "low-power",
  }) as WebGL2RenderingContext | null;
  if (!gl || gl.isContextLost()) return null;
  const program = gl.createProgram()!;
  for (const [type, source] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(type)!;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.bindAttribLocation(program, 0, "position");
  gl.bindAttribLocation(program, 1, "colour");
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
  const names = new Map<string, WebGLUniformLocation | null>();
  const uniform = (name: string) => {
    if (!names.has(name)) names.set(name, gl.getUniformLocation(program, name));
    return names.get(name)!;
  };
  painter = { canvas, gl, program, uniform, buffers: new WeakMap(), indices: new Map() };
  return painter;
}

/** The painter keeps a head's buffer for as long as the head's array lives. */
function bufferOf({ gl, buffers }: Painter, array: Uint16Array | Uint32Array): WebGLBuffer {
  let buffer = buffers.get(array);
  if (!buffer) {
    buffers.set(array, (buffer = gl.createBuffer()!));
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, array, gl.STATIC_DRAW);
  }
  return buffer;
}

function indexOf({ gl, indices }: Painter, n: number): void {
  let buffer = indices.get(n);
  if (buffer) return gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffer);
  if (indices.size > 8) {
    for (const old of indices.values()) gl.deleteBuffer(old);
    indices.clear();
  }
  indices.set(n, (buffer = gl.createBuffer()!));
  gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffer);
  gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, drawingOrder(n), gl.STATIC_DRAW);
}

/** The plots as a picture of width × height pixels, or null where WebGL is missing; it is valid until the next call. */
export function glPicture(plots: Plot[], width: number, height: number, density: number): OffscreenCanvas | null {
  const context = open();
  if (!context) return null;
  const { gl, canvas, program, uniform } = context;
  const limit = gl.getParameter(gl.MAX_RENDERBUFFER_SIZE) as number;
  if (width > limit || height > limit) return null;
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  gl.disable(gl.SCISSOR_TEST);
  gl.clearColor(0, 0, 0, 0);
  gl.clear(gl.COLOR_BUFFER_BIT);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  gl.enable(gl.SCISSOR_TEST);
  gl.useProgram(program);
  for (const plot of plots) draw(context, plot, height, density);
  return gl.isContextLost() ? null : canvas;

  function draw(to: Painter, { cloud, camera, colours, size, x, y, w, h }: Plot, tall: number, dense: number): void {
    const [left, right] = [Math.round(x * dense), Math.round((x + w) * dense)];
    const [top, bottom] = [Math.round(y * dense), Math.round((y + h) * dense)];
    gl.viewport(left, tall - bottom, right - left, bottom - top);
    gl.scissor(left, tall - bottom, right - left, bottom - top);
    gl.bindBuffer(gl.ARRAY_BUFFER, bufferOf(to, cloud.coords));
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, cloud.dims, gl.UNSIGNED_SHORT, true, 0, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, bufferOf(to, colours));
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, 0, 0);
    indexOf(to, cloud.count);
    gl.uniform4fv(uniform("rowX"), camera.x);
    gl.uniform4fv(uniform("rowY"), camera.y);
    gl.uniform4fv(uniform("rowZ"), cloud.dims === 3 ? camera.z : [0, 0, 0, 0]);
    gl.uniform2f(uniform("box"), w, h);
    gl.uniform1f(uniform("size"), size * dense);
    gl.uniform1i(uniform("keysFrom"), cloud.keysFrom);
    const passes = someLarge(colours) ? [0, 1] : [2];
    for (const pass of passes) {
      gl.uniform1i(uniform("pass"), pass);
      gl.drawElements(gl.POINTS, cloud.count, gl.UNSIGNED_INT, 0);
    }
  }
}

const large = new WeakMap<Uint32Array, boolean>();
function someLarge(colours: Uint32Array): boolean {
  let hasLarge = large.get(colours);
  if (hasLarge === undefined) large.set(colours, (hasLarge = colours.some(isLarge)));
  return hasLarge;
}
