import { PALETTE } from '../common/palette.ts';
import { TIMELINE_STYLE } from './timeline.ts';

/** Style sheet of the HTML report: light and dark, from a phone to a wide screen. */
export const STYLE = `
${PALETTE}*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:62rem;margin:0 auto;padding:1.25rem 1rem 4rem}
h1{font-size:1.7rem;line-height:1.2;margin:0}
h2{font-size:1.1rem;margin:2.25rem 0 .6rem}
p{margin:.35rem 0}
a{color:inherit}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.86em}
code{overflow-wrap:anywhere}
.soft{color:var(--soft)}
.banner{border-left:.45rem solid var(--tone);background:var(--card);padding:1.1rem 1.25rem;border-radius:.5rem;box-shadow:0 1px 3px #0002}
.banner h1{color:var(--tone)}
.bar{display:flex;height:.6rem;border-radius:.3rem;overflow:hidden;margin:1rem 0 .6rem;gap:2px}
.bar i{background:var(--tone);min-width:3px}
.chips{display:flex;flex-wrap:wrap;gap:.4rem;margin:.5rem 0}
.chip{border:1px solid var(--line);background:var(--card);color:inherit;border-radius:1rem;padding:.15rem .7rem;font:inherit;font-size:.88rem;cursor:pointer}
.chip b{color:var(--tone)}
.chip[aria-pressed=true]{background:var(--tone);color:var(--ground);border-color:var(--tone)}
.chip[aria-pressed=true] b{color:inherit}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.15rem 1rem;margin:.8rem 0 0;font-size:.92rem}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
details{background:var(--card);border:1px solid var(--line);border-radius:.5rem;margin:.4rem 0}
summary{cursor:pointer;padding:.55rem .9rem;display:flex;flex-wrap:wrap;gap:.15rem .7rem;align-items:baseline;list-style:none}
summary::-webkit-details-marker{display:none}
summary::before{content:"▸";color:var(--soft);width:.8rem}
details[open]>summary::before{content:"▾"}
summary .grow{flex:1 1 12rem;overflow-wrap:anywhere}
.brief{flex-basis:100%;padding-left:3.2rem;color:var(--tone);font-size:.92rem;overflow-wrap:anywhere}
details[open]>summary .brief,.brief:empty{display:none}
.all{font:inherit;font-size:.8rem;font-weight:400;color:inherit;background:none;border:1px solid var(--line);border-radius:.35rem;padding:.15rem .6rem;margin-left:.5rem;cursor:pointer}
.body{padding:0 .9rem .9rem 2.3rem}
.mark{color:var(--tone);font-weight:700;min-width:1rem}
.finding{border-left:.3rem solid var(--tone)}
pre,.line pre{background:var(--code);border:1px solid var(--line);border-radius:.35rem;padding:.6rem .75rem;margin:.4rem 0;white-space:pre-wrap;overflow-wrap:anywhere}
.line{display:flex;gap:.4rem;align-items:flex-start}
.line pre{flex:1;min-width:0;white-space:pre-wrap;overflow-wrap:anywhere}
.body p.soft{margin-top:.8rem;margin-bottom:0;font-size:.9rem}
.copy{font:inherit;font-size:.8rem;border:1px solid var(--line);background:var(--card);color:inherit;border-radius:.35rem;padding:.35rem .6rem;margin-top:.4rem;cursor:pointer}
.wrap{white-space:pre-wrap!important;overflow-wrap:anywhere}
.good{color:var(--pass)}.bad{color:var(--fail)}
ul.ids{margin:.2rem 0 .8rem;padding:0;list-style:none;display:flex;flex-wrap:wrap;gap:.25rem .8rem}
.check{border-top:1px solid var(--line);padding:.4rem 0;display:flex;gap:.6rem;align-items:baseline;flex-wrap:wrap}
.check:first-child{border-top:0}
.check .what{flex:1 1 16rem;min-width:0}
.unmatched,[hidden]{display:none!important}
footer{margin-top:3rem;color:var(--soft);font-size:.85rem}
@media(max-width:40rem){.observed{grid-template-columns:minmax(0,1fr)}.observed dd{margin-bottom:.5rem}.brief{padding-left:0}.body{padding-left:.9rem}dl{gap:.15rem .7rem}.banner{padding:1rem}h1{font-size:1.4rem}}
blockquote{margin:.5rem 0 .8rem;padding:.45rem .9rem;border-left:.2rem solid var(--line);font-style:italic}cite{display:block;font-style:normal;font-size:.85rem;color:var(--soft)}.quoted{font-style:italic;font-size:.92rem}
.anchor{scroll-margin-top:4rem}
.search{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;gap:.3rem 1rem;align-items:center;margin:1.2rem 0 0;padding:.5rem 0;background:var(--ground)}.search label{flex:1;display:flex;gap:.6rem;align-items:center;color:var(--soft)}.search input{flex:1;min-width:8rem;font:inherit;color:inherit;background:var(--card);border:1px solid var(--line);border-radius:.4rem;padding:.4rem .7rem}.search output{color:var(--soft);font-size:.9rem}
table{border-collapse:collapse;width:100%;background:var(--card);border:1px solid var(--line);border-radius:.5rem;font-size:.93rem}th,td{text-align:left;padding:.4rem .9rem;border-top:1px solid var(--line)}thead th{color:var(--soft);font-size:.85rem;border-top:0}.n{text-align:right;width:5rem}
${TIMELINE_STYLE}
@media print{:root{color-scheme:light}body{background:#fff;font-size:12px}.chips,.copy,.all,.search{display:none}details:not([open])::details-content{content-visibility:visible;block-size:auto}summary::before{content:none}.brief{display:none}pre{white-space:pre-wrap;overflow-wrap:anywhere}.banner,h2,summary,figure,blockquote{break-inside:avoid}h2,summary{break-after:avoid}.bar{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
`;
