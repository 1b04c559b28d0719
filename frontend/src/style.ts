// The look of everything that is not drawn. Lives in a shadow root: nothing leaks in or out.

import { DARK, LIGHT, MONO, SANS, type Theme } from "./core/theme";

const variables = (theme: Theme): string =>
  (["ground", "text", "muted", "faint", "hairline", "accent", "query", "key", "mark"] as const).map((name) => `--${name}:${theme[name]};`).join("") +
  `color-scheme:${theme.dark ? "dark" : "light"};`;

export const CSS = `
:host{display:block;width:100%;min-width:280px;text-align:left;direction:ltr}
*{box-sizing:border-box}
[hidden]{display:none!important}
.view{${variables(LIGHT)}position:relative;background:var(--ground);color:var(--text);font:14px/1.4 ${SANS};padding:12px;min-width:0;outline:none;min-height:160px;container-type:inline-size}
.view[data-theme=dark]{${variables(DARK)}}
.top{display:flex;flex-wrap:wrap;align-items:center;justify-content:space-between;gap:4px 12px;margin:0 0 8px}
.picture{display:flex;gap:8px;align-items:center}
.picture .field .name{display:none}
.title{font-size:14px;font-weight:600;margin:0;display:flex;flex-wrap:wrap;gap:0 12px;align-items:baseline}
.caption{font-size:12px;font-weight:400;color:var(--muted)}
.bar,.heads{display:flex;flex-wrap:wrap;align-items:center;gap:8px 12px;margin:0 0 8px}
.heads{gap:6px 8px}
.name{font-size:12px;color:var(--muted);margin-right:4px}
.field{display:inline-flex;align-items:center}
button,select,input{font:inherit;font-size:12px;color:inherit}
select,.opens,.back,.step,input[type=search],.box{height:28px;border:1px solid var(--hairline);border-radius:6px;background:var(--ground);padding:0 8px}
select{padding:0 4px}
button{cursor:pointer}
button:disabled{cursor:default;opacity:.4}
input[type=search]{width:132px}
.search{display:inline-flex;align-items:center}
.nowhere:not(:empty){margin-left:8px;font-size:12px;color:var(--muted);white-space:nowrap}
.opens::after{content:"▾";margin-left:6px;color:var(--muted)}
.opens[aria-expanded=true]{border-color:var(--accent)}
.badge{display:inline-block;min-width:16px;margin-left:6px;padding:0 4px;border-radius:8px;background:var(--accent);color:var(--ground);font-size:12px;line-height:16px;text-align:center}
.stepper{display:inline-flex;align-items:center}
.stepper select{border-radius:6px 0 0 6px}
.step{padding:0;width:28px;border-left:0;border-radius:0}
.step:last-child{border-radius:0 6px 6px 0}
.back{color:var(--accent)}
.segmented{display:inline-flex;border:1px solid var(--hairline);border-radius:6px;overflow:hidden}
.segmented button{border:0;background:none;padding:0 10px;height:26px;color:var(--muted)}
.segmented button+button{border-left:1px solid var(--hairline)}
.segmented button[aria-pressed=true]{background:var(--faint);color:var(--accent);font-weight:600}
button:focus-visible,select:focus-visible,input:focus-visible,.plot:focus-visible{outline:2px solid var(--accent);outline-offset:-1px}
.menu{position:relative;display:inline-block}
.panel{position:absolute;z-index:5;top:32px;left:0;display:flex;flex-direction:column;gap:10px;width:264px;padding:12px;background:var(--ground);border:1px solid var(--hairline);border-radius:8px;font-size:12px}
.menu:has([data-name=save]) .panel{width:136px;padding:4px;gap:0}
.entry{border:0;background:none;text-align:left;padding:8px;border-radius:4px}
.entry:hover{background:var(--faint)}
.check{display:flex;align-items:center;gap:8px;cursor:pointer}
.check input{margin:0;accent-color:var(--accent)}
.slider{display:grid;grid-template-columns:1fr auto;gap:4px}
.slider input{grid-column:1/3;width:100%;accent-color:var(--accent);margin:0}
.number{font-family:${MONO};font-variant-numeric:tabular-nums}
.choice{border:0;margin:0;padding:0;min-width:0}
.choice legend{float:left;padding:0;color:var(--muted);margin-right:8px}
.quick{display:inline-flex;gap:8px}
.quiet{border:0;background:none;padding:0;color:var(--accent);font-size:12px}
.numbers{display:flex;flex-wrap:wrap;gap:4px;margin-top:6px;clear:both}
.box{height:24px;min-width:28px;padding:0 4px;color:var(--muted)}
.box[aria-pressed=true]{border-color:var(--accent);color:var(--accent);font-weight:600}
.boxes{display:inline-flex;flex-wrap:wrap;gap:3px}
.head{width:24px;height:20px;padding:0;border:2px solid var(--colour);border-radius:4px;background:none;color:var(--muted);font:12px/16px ${MONO}}
.head[aria-pressed=true]{background:var(--colour);color:var(--ink)}
.stage{position:relative;min-height:96px}
.scroll{position:relative;overflow:auto;max-width:100%}
.plot{position:sticky;top:0;left:0;display:block;touch-action:pan-x pan-y;outline:none}
.plot.whole{position:static}
.plot.grab{touch-action:none;cursor:grab}
.plot.grab:active{cursor:grabbing}
.plot.points{cursor:pointer}
.tokens{position:sticky;top:0;left:0;height:0;width:0;overflow:visible;outline:none;pointer-events:none}
.tokens [role=option]{position:absolute;overflow:hidden;white-space:pre;color:transparent;unicode-bidi:isolate;font:12px ${MONO};user-select:none}
.tokens:focus-visible [data-active]{outline:2px solid var(--accent);border-radius:3px}
.tip{position:absolute;z-index:4;pointer-events:none;padding:6px 8px;max-width:280px;background:var(--ground);border:1px solid var(--hairline);border-radius:6px;font-size:12px;line-height:1.4;white-space:nowrap}
.tip bdi{font-family:${MONO};max-width:140px;display:inline-block;overflow:hidden;text-overflow:ellipsis;vertical-align:bottom;white-space:pre}
.tip .number{font-weight:600}
.zoom{position:absolute;right:4px;top:4px;display:flex;flex-direction:column;gap:4px}
.zoom button{width:28px;height:28px;padding:0;border:1px solid var(--hairline);border-radius:6px;background:var(--ground)}
.ring{position:absolute;pointer-events:none;border:2px solid var(--accent);border-radius:4px}
.large{position:absolute;z-index:4;pointer-events:none;padding:8px;background:var(--ground);border:1px solid var(--hairline);border-radius:8px;font-size:12px;transform-origin:center;animation:grow 120ms ease-out}
.large canvas{display:block}
.large>div{white-space:nowrap;overflow:hidden;text-overflow:ellipsis;margin-bottom:4px}
.large bdi{font-family:${MONO}}
@keyframes grow{from{transform:scale(.4);opacity:.4}}
.sentence{display:flex;flex-wrap:wrap;gap:2px;max-height:92px;overflow:auto;margin:0 0 12px;align-items:center}
.sentence .name{margin-right:6px}
.sentence button{border:1px solid transparent;background:none;border-radius:4px;padding:1px 4px;font:12px/20px ${MONO};white-space:pre;unicode-bidi:isolate;max-width:200px;overflow:hidden;text-overflow:ellipsis}
.sentence button:hover{background:var(--faint)}
.sentence button[aria-checked=true]{border-color:var(--query);color:var(--query);font-weight:600}
.sentence button[data-found]{background:var(--mark)}
.sentence button[data-special]{color:var(--muted)}
.mark{opacity:.5}
.panes{display:flex;flex-wrap:wrap;gap:16px 24px}
.pane{flex:1 1 420px;min-width:0}
.pair{display:flex;flex-direction:column;gap:16px}
.pane[data-wide] .pair{flex-direction:row}
.plotbox{position:relative;flex:1 1 0;min-width:0}
.pair .plotbox{flex-basis:auto}
.pane[data-wide] .pair .plotbox{flex:7 1 0}
.pane[data-wide] .pair .beside{flex:5 1 0;border-left:1px solid var(--hairline);padding-left:20px}
.beside{min-width:0}
.beside-top{display:flex;align-items:center;justify-content:space-between;min-height:32px;font-size:12px;color:var(--muted)}
.beside-top strong{color:var(--text);font-size:14px}
.model{display:block;font-size:14px;margin-bottom:4px}
.plotbox .tip{white-space:normal;width:max-content}
.plotbox .tip div+div{color:var(--muted)}
.pairs input{width:132px}
select[name=text]{width:170px}
.message{padding:32px 12px;color:var(--muted);text-align:center}
.hint{margin:0 0 8px;font-size:12px;color:var(--muted)}
.sides{position:sticky;left:0;z-index:2;width:0;height:0;overflow:visible;pointer-events:none}
.sides div{position:absolute;left:0;top:0;background:var(--ground);font:12px ${MONO};color:var(--muted)}
.sides span{position:absolute;right:10px;transform:translateY(-50%)}
.sides .word{left:0;right:auto;font-family:${SANS}}
.message strong{display:block;color:var(--text);font-weight:600;margin-bottom:4px}
.note{margin:10px 0 0;font-size:12px;color:var(--muted)}
.note{display:flex;flex-wrap:wrap;gap:2px 4px}
.keys{margin-left:auto;opacity:.8}
.note .quiet{text-decoration:underline;text-underline-offset:2px}
.page{width:min(680px,100vw - 24px);max-height:min(86vh,820px);padding:0;border:1px solid var(--hairline);border-radius:8px;background:var(--ground);color:var(--text);overflow:hidden}
.page[open]{display:flex;flex-direction:column}
.page::backdrop{background:color-mix(in srgb,var(--ground) 72%,transparent)}
.corner{position:absolute;top:8px;right:8px}
.close{width:32px;height:32px;padding:0;border:0;border-radius:6px;background:var(--ground);color:var(--muted);font-size:20px;line-height:32px}
.close:hover{background:var(--faint);color:var(--text)}
.page article{overflow:auto;padding:20px 28px 28px;outline-offset:-2px;overscroll-behavior:contain;line-height:1.55}
.page h2{font-size:20px;line-height:1.3;margin:0 36px 12px 0}
.page h3{font-size:14px;margin:24px 0 8px}
.page p{margin:0 0 10px}
.page ul,.page ol{margin:0 0 10px;padding-left:20px}
.page li{margin:0 0 6px}
.page code{font:12px ${MONO};background:var(--faint);border-radius:3px;padding:1px 4px}
.page a{color:var(--accent);overflow-wrap:anywhere}
.page article:focus-visible,.close:focus-visible{outline:2px solid var(--accent)}
.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
@container (max-width:900px){.keys{display:none}}
@media (pointer:coarse){
.keys{display:none}
select,.opens,.back,.step,input[type=search],.box,.entry{min-height:44px}
.step,.box{min-width:44px}
.segmented button{min-height:42px}
.head{width:44px;height:44px}
.quiet{min-height:44px;padding:0 8px}
.check,.slider{min-height:44px}
.zoom button,.close{width:44px;height:44px}
.zoom{position:static;flex-direction:row;justify-content:flex-end}
.sentence button{min-height:44px;min-width:44px}
}
@media (prefers-reduced-motion:reduce){.large{animation:none}}
`;
