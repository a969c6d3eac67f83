import type { VNode } from 'preact';
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { Chart, type Curve, type Stretch } from '../chart.ts';
import {
  ActionButton,
  Card,
  Choice,
  Facts,
  html,
  noneIn,
  openPage,
  type PageProps,
  runAction,
  textTo,
  thousands,
} from '../shell.ts';
import type { FleetDocument, RobotDetail, Second, Standing } from './document.ts';
import { RobotsCard } from './robots.ts';

const LATENCIES = ['rollout.ms', 'http.ms', 'ping.ms', 'sync.ms', 'connect.ms', 'reconnect.ms'];
const RATES: readonly [name: string, label: string, colour: string][] = [
  ['sse.events', 'events read', 'accent'],
  ['rollout', 'roll-outs sent', 'good'],
  ['http', 'requests', 'busy'],
  ['ping', 'pings', 'warn'],
  ['http.errors', 'requests failed', 'bad'],
];

const duration = (ms: number): string => {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(0)} s`;
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 10 || ms === 0 ? `${ms.toFixed(0)} ms` : `${ms.toFixed(1)} ms`;
};

const number = (value: number): string => (value >= 10 || value === 0 ? value.toFixed(0) : value.toFixed(1));

function ChartsCard({ document }: PageProps<FleetDocument>): VNode {
  const { seconds, bands, elapsedMs, latenessLimitMs } = document;
  const [metric, setMetric] = useState('rollout.ms');
  const begin = document.beginMs ?? 0;
  const moments = useMemo(() => seconds.map(({ at }) => (at - begin) / 1000), [seconds, begin]);
  const stretches: Stretch[] = bands.map(({ label, short = label, from, to, byHand = false }) => ({
    label: short,
    beside: byHand,
    from: (from - begin) / 1000,
    to: ((to ?? elapsedMs) - begin) / 1000,
    colour: byHand && label !== 'paused' ? 'accent' : 'soft',
  }));
  const curve = (label: string, colour: string, value: (second: Second) => number | undefined): Curve => {
    return { label, colour, values: seconds.map((second) => value(second) ?? null) };
  };
  const seen = new Set(seconds.flatMap(({ p50 }) => Object.keys(p50)));
  // Metrics of a robot class, e.g. `rollout.ms{class=arm}`, follow the metric of all robots.
  const known = LATENCIES.flatMap((name) => [...seen].filter((one) => one.replace(/\{.*/, '') === name).sort());
  const metrics = [...new Set([metric, ...known])];
  const charts = [
    {
      title: 'Share reached',
      text: 'Share of the roll-outs sent so far that a client on the robot has read, and that were missed',
      curves: [
        curve('reached', 'good', ({ attempts, reached }) => (attempts === 0 ? undefined : (100 * reached) / attempts)),
        curve('missed', 'bad', ({ attempts, missed }) => (attempts === 0 ? undefined : (100 * missed) / attempts)),
      ],
      write: (value: number) => `${value.toFixed(0)} %`,
      most: 100,
    },
    {
      title: 'Latency',
      text: `Latency ${metric} over time: median and 99th percentile`,
      curves: [curve('p50', 'busy', ({ p50 }) => p50[metric]), curve('p99', 'warn', ({ p99 }) => p99[metric])],
      write: duration,
      control: html`<${Choice} label="Latency" value=${metric} values=${metrics} onChoice=${setMetric} />`,
    },
    {
      title: 'Rates a second',
      text: 'Events and requests a second',
      curves: RATES.map(([name, label, colour]) => curve(label, colour, ({ rates }) => rates[name] ?? 0)),
      write: number,
    },
    {
      title: 'Generator',
      text: 'Lateness of the load generator, 99th percentile, its limit, and its longest standstill in a second',
      curves: [
        curve('limit', 'bad', () => latenessLimitMs),
        curve('lateness p99', 'accent', ({ p99 }) => p99['schedule.lateness.ms']),
        curve('standstill', 'warn', ({ stallMs }) => stallMs),
      ],
      write: duration,
    },
  ];
  return html`<div class="charts">${charts.map(
    ({ title, control, ...chart }) => html`<${Card} key=${title} title=${title} note=${control}>
      <${Chart} ...${chart} moments=${moments} stretches=${stretches} />
    <//>`,
  )}</div>`;
}

function DriveCard({ document }: PageProps<FleetDocument>): VNode {
  const [share, setShare] = useState('10%');
  const [over, setOver] = useState('5s');
  const [robots, setRobots] = useState('10');
  const over_ = document.ending !== null;
  const body = () => ({ share, over });
  const begun = ({ begun: what }: { begun: string }): string => `begun: ${what}`;
  const button = (name: string, label: string, title: string, tone?: string): VNode =>
    html`<${ActionButton} name=${name} label=${label} body=${body} done=${begun} disabled=${over_}
      title=${title} tone=${tone} />`;
  return html`<${Card} title="By hand" note="kept in the result">
    <div class="pair">
      <label>Share of robots<input value=${share} onInput=${textTo(setShare)} /></label>
      <label>Duration<input value=${over} onInput=${textTo(setOver)} /></label>
    </div>
    <div class="buttons even">
      ${button('rollout', 'Roll out', 'A new release to the share, spread over the duration', 'main')}
      ${button('storm', 'Reconnect', 'The share drops its connections, spread over the duration')}
      ${button('partition', 'Partition', 'The share is cut off from the platform for the duration', 'danger')}
      ${button('kill', 'Kill', 'The share is killed and starts again after the duration', 'danger')}
    </div>
    <div class="buttons">
      <label class="inline">Robots<input type="number" min="1" value=${robots} onInput=${textTo(setRobots)} /></label>
      <${ActionButton} name="scale" label="Add" body=${() => ({ count: Number(robots), over })} done=${begun}
        disabled=${over_} title="More robots, started over the duration" />
    </div>
  <//>`;
}

const minutes = (ms: number): string => {
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
};

const TONES: Readonly<Record<string, string>> = { PASSED: 'good', FAILED: 'bad', INCOMPLETE: 'warn' };

function RunCard({ document }: PageProps<FleetDocument>): VNode {
  const { phase, beginMs, elapsedMs, remainingMs, paused, ending, seconds, judged, links } = document;
  const ranMs = beginMs === null ? 0 : elapsedMs - beginMs;
  const { attempts = 0, reached = 0, missed = 0 } = seconds.at(-1) ?? {};
  const outcome = ending?.outcome ?? '';
  const toGo = ending === null ? `about ${minutes(remainingMs ?? 0)}` : 'nothing';
  const note =
    ending === null
      ? html`<span class="state ${paused ? 'warn' : 'good'}" data-phase=${phase}>${paused ? 'paused' : phase}</span>`
      : html`<span class="state ${TONES[outcome] ?? ''}" data-outcome=${outcome}>${outcome}</span>`;
  return html`<${Card} title="Run" className="run" note=${note}>
    ${
      remainingMs === null
        ? ''
        : html`<progress max=${Math.max(ranMs + remainingMs, 1)} value=${ranMs}
      aria-label="Progress of the scenario"></progress>`
    }
    <dl>
      <div><dt>${beginMs === null ? 'preparing' : 'elapsed'}</dt><dd>${minutes(elapsedMs - (beginMs ?? 0))}</dd></div>
      ${remainingMs === null ? '' : html`<div><dt>to go</dt><dd>${toGo}</dd></div>`}
      <div><dt>roll-outs</dt>
        <dd>${thousands(reached)} of ${thousands(attempts)} reached, ${thousands(missed)} missed</dd></div>
      ${judged === undefined ? '' : html`<div><dt>judged</dt><dd>${judged}</dd></div>`}
      ${ending === null ? '' : html`<div><dt>load generator</dt><dd>${ending.verdict}</dd></div>`}
      ${ending?.out === undefined ? '' : html`<div><dt>results</dt><dd class="code">${ending.out}</dd></div>`}
      ${links.map(
        ({ label, url }) => html`<div key=${url}><dt>beside it</dt>
        <dd><a href=${url} target="_blank" rel="noreferrer">${label}</a></dd></div>`,
      )}
    </dl>
    ${ending === null ? '' : html`<${Lines} lines=${ending.reasons} />`}
    <div class="buttons">${
      paused
        ? html`<${ActionButton} name="resume" label="Go on" tone="main" />`
        : html`<${ActionButton} name="pause" label="Pause before the next phase" disabled=${ending !== null}
          title="The robots stay as they are" />`
    }${document.endable === true ? html`<${EndButton} ended=${ending !== null} />` : ''}</div>
  <//>`;
}

function VerdictBanner({ document }: PageProps<FleetDocument>): VNode | '' {
  const { soFar, ending, endable } = document;
  const { verdict, atBest, reasons } = soFar;
  if (ending !== null || verdict === 'valid') return '';
  const words =
    atBest === 'valid'
      ? `As it stands, the load generator is ${verdict}`
      : `The load generator can no longer be valid: at best it will be ${atBest}`;
  const what = verdict === 'invalid' ? 'the figures of the run would decide nothing' : 'read the figures with care';
  return html`<div class="void ${verdict === 'invalid' ? 'bad' : 'warn'}" role="status" data-so-far=${verdict}>
    <b>${words}; ${what}.</b>
    <${Lines} lines=${reasons} />
    ${endable === true ? html`<div class="buttons"><${EndButton} ended=${false} /></div>` : ''}
  </div>`;
}

const EndButton = ({ ended }: { ended: boolean }): VNode =>
  html`<${ActionButton} name="end" label="End the run now" tone="danger" disabled=${ended}
    title="The robots end at once; the result has what was measured until now, and is incomplete" />`;

const Lines = ({ lines }: { lines: readonly string[] }): VNode =>
  html`<ul class="plain">${lines.map((line) => html`<li key=${line}>${line}</li>`)}</ul>`;

function ThresholdsCard({ document }: PageProps<FleetDocument>): VNode {
  const { thresholds } = document;
  const missed = thresholds.filter(({ tone }) => tone === 'bad').length;
  const judged = thresholds.some(({ tone }) => tone === 'good');
  const note = missed > 0 ? `${missed} missed` : judged ? 'as they stand' : 'not judged';
  return html`<${Card} title="Thresholds" note=${note}>
    ${noneIn(thresholds, 'None was given.')}
    <ul class="standings">${thresholds.map(
      (one) => html`<li key=${one.expr}>
      <span class="code">${one.expr}</span>
      <span class="state ${one.tone}">${shownValue(one)}</span></li>`,
    )}</ul>
  <//>`;
}

function shownValue({ expr, value }: Standing): string {
  if (value === undefined) return 'nothing yet';
  if (/\.count/.test(expr)) return thousands(value);
  if (/\.rate.*%$/.test(expr)) return `${(100 * value).toFixed(2)} %`;
  return /\.rate/.test(expr) ? `${value.toFixed(1)}/s` : duration(value);
}

function BandsCard({ document }: PageProps<FleetDocument>): VNode {
  const bands = document.bands.toSorted((one, other) => one.from - other.from);
  const begin = document.beginMs ?? 0;
  const seconds = (at: number): string => ((at - begin) / 1000).toFixed(1);
  return html`<${Card} title="Phases" note="seconds">
    ${noneIn(bands, 'None has begun.')}
    <ol class="rows">${bands.map(
      ({ label, from, to, byHand }) => html`<li key=${`${from}${label}`}>
      <time>${seconds(from)} – ${to === undefined ? 'now' : seconds(to)}</time>
      <span>${label}</span>${byHand === true ? html` <i class="kind variant">by hand</i>` : ''}
    </li>`,
    )}</ol>
  <//>`;
}

function TroubleCard({ document }: PageProps<FleetDocument>): VNode {
  const { trouble, soFar, ending } = document;
  const verdict = ending?.verdict ?? soFar.verdict;
  return html`<${Card} title="Trouble" note=${trouble.length === 0 ? '' : thousands(trouble.length)}>
    ${noneIn(trouble, verdict === 'valid' ? 'Nothing went wrong.' : 'Nothing beside the load generator.')}
    <${Lines} lines=${trouble} />
  <//>`;
}

const FIELDS = ['id', 'status', 'activity_status', 'error_status', 'target_status', 'release_id', 'created_at'];

function RobotCard({ index, ended, onClose }: { index: number; ended: boolean; onClose(): void }): VNode {
  const [robot, setRobot] = useState<RobotDetail | undefined>(undefined);
  useEffect(() => {
    if (ended) return undefined;
    let timer = 0;
    let closed = false;
    const look = async (): Promise<void> => {
      const seen = await runAction<RobotDetail>('robot', { index }).catch(() => undefined);
      if (closed) return;
      if (seen !== undefined) setRobot(seen);
      timer = setTimeout(() => void look(), 1_000);
    };
    void look();
    return () => {
      closed = true;
      clearTimeout(timer);
    };
  }, [index, ended]);
  const close = html`<button type="button" class="quiet" onClick=${onClose}>Close</button>`;
  if (robot === undefined)
    return html`<${Card} title="Robot" className="robot" note=${close}><p class="empty">Looking…</p><//>`;
  const { name, class: kind, socket, up, deployment, events } = robot;
  const [tone, state, does] = up ? ['good', 'up', 'serves'] : ['bad', 'down', 'down'];
  return html`<${Card} title="Robot" className="robot" note=${close}>
    <p class="robot-head"><b>${name}</b> ${kind} <span class="state ${tone}" data-robot=${state}>${does}</span></p>
    <p class="note code">curl -N --unix-socket ${socket} http://localhost/v0.2/events</p>
    <div class="halves">
      <div>
        <h3>Deployment</h3>
        ${
          deployment === null
            ? html`<p class="empty">None is current.</p>`
            : html`<${Facts} data-deployment=${deployment['id']} facts=${FIELDS.map((field) => [
                field.replace('_status', '').replace('_', ' '),
                String(deployment[field]),
              ])} />`
        }
      </div>
      <div>
        <h3>Stream and log</h3>
        ${noneIn(events, 'No event is stored.')}
        <ol class="rows">${events.toReversed().map(
          ({ id, type, at, deployment: of }) => html`<li key=${id} class="event">
          <b class="number">${id}</b><time>${at.slice(11, 23)}</time>
          <span class="code">${type}</span><span class="note code">${of}</span>
        </li>`,
        )}</ol>
      </div>
    </div>
  <//>`;
}

function FleetPage({ document }: PageProps<FleetDocument>): VNode {
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const close = useCallback(() => setChosen(undefined), []);
  const ended = document.ending !== null;
  return html`<${VerdictBanner} document=${document} /><div class="columns fleet">
    <div class="side">
      <${RunCard} document=${document} />
      <${ThresholdsCard} document=${document} />
      <${DriveCard} document=${document} />
      <${BandsCard} document=${document} />
      <${TroubleCard} document=${document} />
    </div>
    <div class="wide">
      <${RobotsCard} document=${document} chosen=${chosen} onChoose=${setChosen} />
      ${
        chosen === undefined ? '' : html`<${RobotCard} key=${chosen} index=${chosen} ended=${ended} onClose=${close} />`
      }
      <${ChartsCard} document=${document} />
    </div>
  </div>`;
}

openPage<FleetDocument>(FleetPage, ({ title, states }) => `Fleet ${title}, ${states.length} robots`);
