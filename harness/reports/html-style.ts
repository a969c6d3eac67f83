/** Style sheet of the HTML report: light and dark, from a phone to a wide screen. */
export const STYLE = `
:root{color-scheme:light dark;
--ground:light-dark(#f6f7f9,#14161a);--card:light-dark(#fff,#1c1f25);--line:light-dark(#e0e3e8,#2e333c);
--ink:light-dark(#1a1d23,#e6e8ec);--soft:light-dark(#5c6370,#9aa2b1);--code:light-dark(#f0f2f5,#12141a);
--pass:light-dark(#1a7f4b,#4cc38a);--fail:light-dark(#c3292b,#ff6b6b);--warn:light-dark(#9a6200,#e8b04b);
--blocked:light-dark(#a33a9b,#e58fe0);--known:light-dark(#1f6f9f,#6cb8e8);--na:light-dark(#69707d,#7f8897)}
*{box-sizing:border-box}
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
pre,.line pre{background:var(--code);border:1px solid var(--line);border-radius:.35rem;padding:.6rem .75rem;margin:.4rem 0;overflow-x:auto;white-space:pre}
.line{display:flex;gap:.4rem;align-items:flex-start}
.line pre{flex:1;min-width:0;white-space:pre-wrap;overflow-wrap:anywhere}
.body p.soft{margin-top:.8rem;margin-bottom:0;font-size:.9rem}
.copy{font:inherit;font-size:.8rem;border:1px solid var(--line);background:var(--card);color:inherit;border-radius:.35rem;padding:.35rem .6rem;margin-top:.4rem;cursor:pointer}
.good{color:var(--pass)}.bad{color:var(--fail)}
ul.ids{margin:.2rem 0 .8rem;padding:0;list-style:none;display:flex;flex-wrap:wrap;gap:.25rem .8rem}
.check{border-top:1px solid var(--line);padding:.4rem 0;display:flex;gap:.6rem;align-items:baseline;flex-wrap:wrap}
.check:first-child{border-top:0}
.check .what{flex:1 1 16rem;min-width:0}
.pass{--tone:var(--pass)}.fail,.fixed{--tone:var(--fail)}.warn{--tone:var(--warn)}.blocked{--tone:var(--blocked)}.known{--tone:var(--known)}.not_applicable{--tone:var(--na)}
[hidden]{display:none!important}
footer{margin-top:3rem;color:var(--soft);font-size:.85rem}
@media(max-width:40rem){.observed{grid-template-columns:minmax(0,1fr)}.observed dd{margin-bottom:.5rem}.brief{padding-left:0}.body{padding-left:.9rem}dl{gap:.15rem .7rem}.banner{padding:1rem}h1{font-size:1.4rem}}
@media print{.chips,.copy,.all{display:none}details{break-inside:avoid}}
`;

/** Filtering by outcome and copying of commands; the report reads the same without it. */
export const SCRIPT = `
const chips=[...document.querySelectorAll('.chip')];
for(const chip of chips)chip.addEventListener('click',()=>{
  const on=chip.getAttribute('aria-pressed')!=='true';
  for(const other of chips)other.setAttribute('aria-pressed',String(other===chip&&on));
  const wanted=on?chip.dataset.outcome:undefined;
  for(const check of document.querySelectorAll('.check'))check.hidden=wanted!==undefined&&check.dataset.outcome!==wanted;
  for(const section of document.querySelectorAll('.section')){
    const any=[...section.querySelectorAll('.check')].some((check)=>!check.hidden);
    section.hidden=!any;
    if(wanted!==undefined&&any)section.open=true;
  }
});
for(const button of document.querySelectorAll('.all')){
  button.hidden=false;
  button.addEventListener('click',()=>{
    const open=button.textContent==='open all';
    for(const finding of button.closest('section').querySelectorAll('.finding'))finding.open=open;
    button.textContent=open?'close all':'open all';
  });
}
for(const link of document.querySelectorAll('.check a'))link.addEventListener('click',()=>{
  const finding=document.getElementById(link.hash.slice(1));
  if(finding)finding.open=true;
});
for(const button of document.querySelectorAll('.copy')){
  button.hidden=!navigator.clipboard;
  button.addEventListener('click',async()=>{
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent='copied';
  });
}
`;
