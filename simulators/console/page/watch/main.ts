import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { bytes, Card, clock, DeedsCard, Facts, html, noneIn, openPage, type PageProps, thousands } from '../shell.ts';
import type { FindingLine, WatchDocument } from './document.ts';

type Props = PageProps<WatchDocument>;

const counted = (count: number, noun: string): string => `${thousands(count)} ${noun}${count === 1 ? '' : 's'}`;

function verdictOf({ findings, ended }: WatchDocument): { tone: string; text: string } {
  const rest = ended === null ? '' : ', no longer judged';
  const failed = findings.filter(({ level }) => level === 'MUST').length;
  if (failed > 0) return { tone: 'bad', text: `${counted(failed, 'MUST')} broken${rest}` };
  if (findings.length > 0) return { tone: 'warn', text: counted(findings.length, 'warning') + rest };
  return { tone: ended === null ? 'good' : 'warn', text: `nothing found${rest}` };
}

function StandingCard({ document }: Props): VNode {
  const { clients, server, began, connections, bytes: carried, exchanges, events, rules, unreachable } = document;
  const { tone, text } = verdictOf(document);
  const facts = {
    clients,
    server,
    since: clock(began),
    connections: `${thousands(connections.open)} open, ${thousands(connections.all)} in all`,
    exchanges: thousands(exchanges),
    events: thousands(events),
    bytes: `${bytes(carried.client)} in, ${bytes(carried.server)} out`,
    rules: `${rules.decided} of ${rules.all} decided`,
  };
  const note = html`<span class="state ${tone}" data-verdict=${tone}>${text}</span>`;
  return html`<${Card} title="Verdict so far" note=${note}>
    ${unreachable === null ? '' : html`<p class="void bad" data-unreachable><b>No server.</b> ${unreachable}</p>`}
    <${Facts} facts=${facts} data-exchanges=${exchanges} data-events=${events} />
  <//>`;
}

function NotJudgedCard({ document }: Props): VNode {
  const notJudged = [...(document.ended === null ? [] : [document.ended]), ...document.notJudged];
  return html`<${Card} title="Not judged">
    ${noneIn(notJudged, 'All of it was judged.')}
    <ul class="plain">${notJudged.map((why) => html`<li key=${why}>${why}</li>`)}</ul>
  <//>`;
}

function FindingsCard({ document }: Props): VNode {
  const { findings } = document;
  const [open, setOpen] = useState('');
  const rows = findings.toReversed();
  return html`<${Card} title="Findings" note=${findings.length === 0 ? undefined : thousands(findings.length)}>
    ${noneIn(rows, 'Nothing was found so far.')}
    <ol class="rows findings">${rows.map(
      (finding) => html`<${Finding} key=${finding.id} finding=${finding} open=${open === finding.id}
        onToggle=${() => setOpen(open === finding.id ? '' : finding.id)} />`,
    )}</ol>
  <//>`;
}

function Finding({ finding, open, onToggle }: { finding: FindingLine; open: boolean; onToggle(): void }): VNode {
  const { id, at, level, side, requirement, followers } = finding;
  return html`<li data-finding=${id} data-side=${side}>
    <button type="button" class="row" aria-expanded=${open} onClick=${onToggle}>
      <time>${clock(at)}</time>
      <span class="state ${level === 'MUST' ? 'bad' : 'warn'}">${level}</span>
      <span class="note">of the ${side}</span>
      <b class="code">${id}</b>
      <span class="note to">${followers.length === 0 ? '' : `${followers.length} more may follow from it`}</span>
    </button>
    <p class="requirement">${requirement}</p>
    ${open ? html`<${FindingDetail} finding=${finding} />` : ''}
  </li>`;
}

function FindingDetail({ finding }: { finding: FindingLine }): VNode {
  const { id, section, expected, actual, looked, exchanges, followers } = finding;
  const facts = {
    expected,
    actual,
    section,
    'looked at': looked === 1 ? 'once, and it did not hold' : `${thousands(looked)} times, and held until the last`,
    more: `muster explain ${id}`,
    ...(followers.length > 0 && { 'may follow': followers.join(', ') }),
  };
  return html`<div class="detail">
    <${Facts} facts=${facts} />
    ${exchanges.map(
      ({ headline, lines, curl }, index) => html`<div key=${index}>
        <h3 class="code">${headline}</h3>
        <pre tabindex="0">${[curl, '', ...lines].join('\n').trim()}</pre>
      </div>`,
    )}
  </div>`;
}

function WatchPage({ document }: Props): VNode {
  return html`<div class="columns">
    <div class="side">
      <${StandingCard} document=${document} />
      <${NotJudgedCard} document=${document} />
      <${DeedsCard} title="What happened" deeds=${document.deeds} />
    </div>
    <div class="wide">
      <${FindingsCard} document=${document} />
    </div>
  </div>`;
}

openPage<WatchDocument>(WatchPage, ({ api, server }) => `Traffic of the ${api} at ${server}`);
