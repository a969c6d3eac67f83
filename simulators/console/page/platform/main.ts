import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { ActionButton, Card, DeedsCard, Facts, html, noneIn, openPage, type PageProps, textTo } from '../shell.ts';
import type { PlatformDocument } from './document.ts';
import { DeploymentsCard, DevicesCard, RequestsCard } from './lists.ts';

interface PlanProps extends PageProps<PlatformDocument> {
  route: string;
  onRoute(route: string): void;
}

const FAULTS = ['429=1', '5xx=503', 'reset', 'latency=2000', 'slow-body=200', '5xx@0.5'];

function PlanCard({ document, route, onRoute }: PlanProps): VNode {
  const [kind, setKind] = useState('fault');
  const [fault, setFault] = useState('429=1');
  const [status, setStatus] = useState('200');
  const [answer, setAnswer] = useState('{"data":[]}');
  const [times, setTimes] = useState('1');
  const plan = (): object => ({
    ...partsOf(route),
    ...(times === '' ? {} : { times: Number(times) }),
    ...(kind === 'fault' ? { fault } : { answer: { status: Number(status), ...bodyOf(answer) } }),
  });
  return html`<${Card} title="Plan an answer">
    <label>Route<input id="plan-route" class="code" list="routes" value=${route} onInput=${textTo(onRoute)} /></label>
    <datalist id="routes">${document.routes.map((one) => html`<option key=${one} value=${one}></option>`)}</datalist>
    <div class="pair">
      <label>Gets<select value=${kind} onChange=${textTo(setKind)}>
        <option value="fault">a fault</option><option value="answer">an answer</option>
      </select></label>
      <label>Times
        <input type="number" min="1" placeholder="always" value=${times} onInput=${textTo(setTimes)} />
      </label>
    </div>
    ${
      kind === 'fault'
        ? html`<label>Fault<input class="code" list="faults" value=${fault} onInput=${textTo(setFault)} /></label>
      <datalist id="faults">${FAULTS.map((one) => html`<option key=${one} value=${one}></option>`)}</datalist>
      <p class="note forms">${document.faultForms.map((form) => html`<code key=${form}>${form}</code> `)}</p>`
        : html`<label>Status
        <input type="number" min="200" max="599" value=${status} onInput=${textTo(setStatus)} />
      </label>
      <label>Body<textarea class="code" rows="3" value=${answer} onInput=${textTo(setAnswer)}></textarea></label>`
    }
    <div class="buttons"><${ActionButton} name="plan" label="Plan" tone="main" body=${plan}
      done=${({ id }: { id: number }) => `plan ${id} is made`} /></div>
  <//>`;
}

function partsOf(route: string): { method?: string; path: string } {
  const [first = '', ...rest] = route.trim().split(/\s+/);
  return rest.length === 0 ? { path: first } : { method: first, path: rest.join(' ') };
}

function bodyOf(text: string): { body?: unknown } {
  if (text.trim() === '') return {};
  try {
    return { body: JSON.parse(text) as unknown };
  } catch {
    return { body: text };
  }
}

function PlansCard({ document }: PageProps<PlatformDocument>): VNode {
  const { plans } = document;
  const note = plans.length === 0 ? undefined : html`<${ActionButton} name="unplanAll" label="Drop all" />`;
  return html`<${Card} title="Plans" note=${note}>
    ${noneIn(plans, 'Nothing is planned.')}
    <ol class="rows">${plans.map(({ id, method, path, times, used, gets }) => {
      const over = times !== null && used >= times;
      return html`<li key=${id} class="plan ${over ? 'over' : ''}" data-plan=${id}>
        <div><span class="code">${method ?? 'any'} ${path}</span><br />
          <span class="note"><b class="code">${gets}</b> · used ${used}${times === null ? '' : ` of ${times}`}</span>
        </div>
        <${ActionButton} name="unplan" label="Drop" body=${() => ({ id })} title=${`Drop plan ${id}`} />
      </li>`;
    })}</ol>
  <//>`;
}

function StateCard({ document }: PageProps<PlatformDocument>): VNode {
  const { addresses, dialect, snapshots } = document;
  const [name, setName] = useState('before');
  const terms = Object.entries(addresses).map(([term, value]) => [term.replaceAll('_', ' '), value]);
  const facts = { ...Object.fromEntries(terms), dialect };
  const snapshot = (one: string): VNode => html`<li key=${one} class="plan" data-snapshot=${one}>
    <span class="code">${one}</span>
    <span class="buttons">
      <${ActionButton} name="restore" label="Restore" body=${() => ({ name: one })} />
      <${ActionButton} name="drop" label="Drop" body=${() => ({ name: one })} title=${`Drop snapshot ${one}`} />
    </span>
  </li>`;
  return html`<${Card} title="State">
    <${Facts} facts=${facts} />
    <div class="buttons"><${ActionButton} name="reset" label="Reset to the start" tone="danger"
      title="State as at the start; plans are dropped, snapshots stay" /></div>
    <div class="buttons">
      <label class="inline grow">Snapshot<input value=${name} onInput=${textTo(setName)} /></label>
      <${ActionButton} name="snapshot" label="Take" body=${() => ({ name })} disabled=${name === ''} />
    </div>
    ${snapshots.length === 0 ? '' : html`<ol class="rows snapshots">${snapshots.map(snapshot)}</ol>`}
  <//>`;
}

function PlatformPage({ document }: PageProps<PlatformDocument>): VNode {
  const [route, setRoute] = useState('GET /devices');
  return html`<div class="columns">
    <div class="side">
      <${StateCard} document=${document} />
      <${PlanCard} document=${document} route=${route} onRoute=${setRoute} />
      <${PlansCard} document=${document} />
      <${DeedsCard} title="Done by hand" deeds=${document.deeds} />
    </div>
    <div class="wide">
      <div class="two">
        <${DevicesCard} document=${document} />
        <${DeploymentsCard} document=${document} />
      </div>
      <${RequestsCard} document=${document} onPlan=${setRoute} />
    </div>
  </div>`;
}

openPage<PlatformDocument>(PlatformPage, ({ addresses }) => `Platform ${addresses['url'] ?? ''}`);
