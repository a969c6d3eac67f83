/** The colours of every page, light and dark: a name for each, and the tone of each outcome. */
export const PALETTE = `
:root{color-scheme:light dark;
--ground:light-dark(#f6f7f9,#14161a);--card:light-dark(#fff,#1c1f25);--line:light-dark(#e0e3e8,#2e333c);
--ink:light-dark(#1a1d23,#e6e8ec);--soft:light-dark(#5c6370,#9aa2b1);--code:light-dark(#f0f2f5,#12141a);
--pass:light-dark(#1a7f4b,#4cc38a);--fail:light-dark(#c3292b,#ff6b6b);--warn:light-dark(#9a6200,#e8b04b);
--blocked:light-dark(#a33a9b,#e58fe0);--known:light-dark(#1f6f9f,#6cb8e8);--na:light-dark(#69707d,#7f8897)}
.pass{--tone:var(--pass)}.fail,.fixed{--tone:var(--fail)}.warn{--tone:var(--warn)}.blocked{--tone:var(--blocked)}.known{--tone:var(--known)}.not_applicable{--tone:var(--na)}
`;
