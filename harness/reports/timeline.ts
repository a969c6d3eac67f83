/**
 * Draws what a check did and saw on one axis of time: a lane for what was driven, one for requests, one for each stream, one for what a
 * client printed. Needs no script.
 */
import type { Mark, MarkKind } from '../client/recorder.ts';
import { ticks } from '../common/axis.ts';
import { readableDuration } from '../common/durations.ts';
import { html, type Markup, NOTHING } from '../common/html.ts';
import { printable } from '../common/terminal.ts';

/** More streams than this are left out, the earliest first. */
const MOST_STREAMS = 8;

const WORDS: Record<MarkKind, string> = {
  drive: 'driven',
  restart: 'stopped or started',
  request: 'request',
  stream: 'stream open',
  frame: 'event',
  heartbeat: 'comment',
  sent: 'bytes sent',
  cut: 'cut by the check',
  end: 'ended by the target',
  printed: 'printed by the client',
};

interface Lane {
  name: string;
  marks: Mark[];
}

/** The figure, and the same as a list for those who cannot see it; nothing when there is nothing to draw. */
export function timelineOf(marks: readonly Mark[]): Markup {
  if (marks.length < 2) return NOTHING;
  const from = Math.min(...marks.map(({ at_ms }) => at_ms));
  const to = Math.max(from + 1, ...marks.map(({ at_ms, until_ms }) => until_ms ?? at_ms));
  const place = (ms: number): string => `${Number((((ms - from) / (to - from)) * 100).toFixed(2))}%`;
  const { lanes, left } = lanesOf(marks);
  const kinds = [...new Set(marks.map(({ kind }) => kind))];
  const about = `${marks.length} marks over ${readableDuration(to - from)}: ${kinds.map((kind) => `${marks.filter((mark) => mark.kind === kind).length} × ${WORDS[kind]}`).join(', ')}`;
  return html`<figure class="timeline"><figcaption class="soft">What happened, over time${left > 0 ? ` (the last ${MOST_STREAMS} of ${left + MOST_STREAMS} streams)` : ''}</figcaption>
<div class="lanes" role="img" aria-label="${about}">${lanes.map(({ name, marks: own }) => html`<div class="lane"><span title="${name}">${name}</span><div class="track">${own.map((mark) => drawn(mark, to, place))}</div></div>`)}
<div class="lane scale"><span></span><div class="track">${ticks(0, to - from, 6).map((ms) => html`<b style="left:${place(from + ms)}">${readableDuration(ms)}</b>`)}</div></div></div>
<ul class="key">${kinds.map((kind) => html`<li><i class="${kind}"></i>${WORDS[kind]}</li>`)}</ul>
<details class="script"><summary>The same as a list of ${marks.length} lines</summary><div class="body"><ol class="marks">${marks.map((mark) => html`<li><time>${readableDuration(mark.at_ms - from)}</time> ${mark.stream === undefined ? NOTHING : html`<span class="soft">stream ${mark.stream}</span> `}${described(mark)}</li>`)}</ol></div></details></figure>
`;
}

function lanesOf(marks: readonly Mark[]): { lanes: Lane[]; left: number } {
  const driven = marks.filter(({ kind }) => kind === 'drive' || kind === 'restart');
  const requests = marks.filter(({ kind }) => kind === 'request');
  const client = marks.filter(({ kind, stream }) => kind === 'printed' || (kind === 'end' && stream === undefined));
  const streams = [
    ...Map.groupBy(
      marks.filter(({ stream }) => stream !== undefined),
      ({ stream }) => stream ?? 0,
    ),
  ];
  const shown = streams.slice(-MOST_STREAMS);
  const lanes: Lane[] = [
    { name: 'driven', marks: driven },
    { name: 'requests', marks: requests },
    ...shown.map(([number, own]) => ({ name: streamName(number, own), marks: own })),
    { name: 'client', marks: client },
  ];
  return { lanes: lanes.filter(({ marks: own }) => own.length > 0), left: streams.length - shown.length };
}

function streamName(number: number, marks: readonly Mark[]): string {
  const opened = marks.find(({ kind }) => kind === 'stream');
  const [, query, id] = (opened && /\?(\S+)|with Last-Event-ID: (\S+)/.exec(opened.what)) ?? [];
  const more = id === undefined ? query : `after ${id}`;
  return printable(more === undefined ? `stream ${number}` : `stream ${number}: ${more}`);
}

function drawn(mark: Mark, end: number, place: (ms: number) => string): Markup {
  const { at_ms, until_ms, kind } = mark;
  // A stream that is still open lasts to the end.
  const until = until_ms ?? (kind === 'stream' ? end : at_ms);
  return html`<i class="${kind}" style="left:${place(at_ms)};right:calc(100% - ${place(until)})" title="${described(mark)}"></i>`;
}

function described({ kind, what, count, at_ms, until_ms }: Mark): string {
  const times = count === undefined ? '' : `${count} × `;
  const took = until_ms === undefined || until_ms - at_ms < 1 ? '' : ` (${readableDuration(until_ms - at_ms)})`;
  return `${times}${WORDS[kind]}: ${printable(what)}${took}`;
}

/** Its part of the style sheet of the page. */
export const TIMELINE_STYLE = `
.timeline{margin:1rem 0 .6rem}.lanes{margin-top:.4rem;border:1px solid var(--line);border-radius:.35rem;background:var(--code);padding:.45rem .7rem .3rem;print-color-adjust:exact;-webkit-print-color-adjust:exact}
.lane{display:flex;align-items:center;gap:.7rem;min-height:1.7rem}.lane>span{flex:0 0 10rem;color:var(--soft);font-size:.8rem;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.track{position:relative;flex:1;height:1.1rem;min-width:0}.lane:not(.scale) .track::before{content:"";position:absolute;left:0;right:0;top:50%;border-top:1px solid var(--line)}
.track i{position:absolute;top:.1rem;bottom:.1rem;min-width:3px;border-radius:2px}
.scale{min-height:1.3rem}.scale b{position:absolute;top:.15rem;transform:translateX(-50%);font-weight:400;font-size:.75rem;color:var(--soft);white-space:nowrap}.scale b:first-child{transform:none}
i.drive{background:var(--known)}i.restart{background:var(--blocked)}i.request{background:var(--soft)}.track i.request{opacity:.75;top:.25rem;bottom:.25rem}
i.stream{background:color-mix(in srgb,var(--soft) 40%,transparent)}.track i.stream{top:.4rem;bottom:.4rem}i.frame{background:var(--pass)}i.heartbeat{background:var(--warn)}.track i.heartbeat{top:.3rem;bottom:.3rem;min-width:5px;border-radius:50%}
i.sent{background:var(--warn)}i.printed{background:var(--pass)}
i.cut,i.end{background:var(--ink)}i.end{background:var(--fail)}.track i.cut,.track i.end{top:-.05rem;bottom:-.05rem}
.key{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;margin:.4rem 0 0;padding:0;font-size:.8rem;color:var(--soft)}.key i{print-color-adjust:exact;-webkit-print-color-adjust:exact;display:inline-block;width:.65rem;height:.65rem;border-radius:2px;margin-right:.35rem}
.marks{margin:0;padding:0;list-style:none;font-size:.85rem;overflow-wrap:anywhere}.marks time{display:inline-block;min-width:5.5rem;font-variant-numeric:tabular-nums;color:var(--soft)}
@media(max-width:40rem){.lane{flex-wrap:wrap;gap:0}.lane>span{flex-basis:100%}.track{flex-basis:100%}.scale>span{display:none}.scale b:nth-child(even){display:none}}
`;
