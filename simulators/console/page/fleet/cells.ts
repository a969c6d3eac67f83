/** Every robot as a cell coloured by its state, with zoom, a legend, and a search by name. */
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Card, count, html, say } from '../view.ts';
import type { FleetDocument } from './document.ts';
import { Grid } from './grid.ts';
import { countsOf, labelOf } from './states.ts';

interface RobotsProps {
  document: FleetDocument;
  chosen: number | undefined;
  onChoose(robot: number | undefined): void;
}

const nameOf = (prefix: string, robot: number): string => `${prefix}-${String(robot).padStart(6, '0')}`;

const ZOOMS = [1, 1.5, 2, 3, 4];

export function RobotsCard({ document, chosen, onChoose }: RobotsProps): VNode {
  const { states, prefix } = document;
  const [zoom, setZoom] = useState(0);
  const counts = countsOf(states);
  const find = (event: Event): void => {
    event.preventDefault();
    const text = String(new FormData(event.target as HTMLFormElement).get('name') ?? '').trim();
    const digits = /(\d+)$/.exec(text)?.[1];
    const robot = digits === undefined ? -1 : Number(digits);
    const whole = /^\d+$/.test(text) || text === nameOf(prefix, robot);
    if (whole && robot >= 0 && robot < states.length) onChoose(robot);
    else
      say(
        `No robot is called ${text || 'nothing'}: ${nameOf(prefix, 0)} to ${nameOf(prefix, states.length - 1)}`,
        'wrong',
      );
  };
  const step = (by: number): void => setZoom(Math.max(0, Math.min(ZOOMS.length - 1, zoom + by)));
  return html`<${Card} title="Robots" className="robots" note=${count(states.length)}>
    <ul class="legend" data-counts=${JSON.stringify(Object.fromEntries(counts.map(({ state, robots }) => [state.label, robots])))}>
      ${counts.map(({ state, robots }) => html`<li key=${state.letter}><i class="swatch ${state.colour}"></i>${state.label} <b>${count(robots)}</b></li>`)}
    </ul>
    <${Cells} states=${states} prefix=${prefix} zoom=${ZOOMS[zoom] ?? 1} chosen=${chosen} onChoose=${onChoose} onZoom=${step} />
    <form class="buttons" onSubmit=${find}>
      <label class="inline">Robot<input name="name" placeholder=${nameOf(prefix, 0)} autocomplete="off" /></label>
      <button type="submit">Open</button>
      <button type="button" aria-label="Zoom out" disabled=${zoom === 0} onClick=${() => step(-1)}>−</button>
      <button type="button" aria-label="Zoom in" disabled=${zoom === ZOOMS.length - 1} onClick=${() => step(1)}>+</button>
    </form>
  <//>`;
}

interface CellsProps {
  states: string;
  prefix: string;
  zoom: number;
  chosen: number | undefined;
  onChoose(robot: number): void;
  onZoom(by: number): void;
}

function Cells({ states, prefix, zoom, chosen, onChoose, onZoom }: CellsProps): VNode {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const grid = useRef<Grid | undefined>(undefined);
  const now = useRef({ states, chosen, zoom });
  now.current = { states, chosen, zoom };
  const [under, setUnder] = useState<{ robot: number; x: number; y: number } | undefined>(undefined);
  const lay = (): void => {
    const width = frame.current?.clientWidth ?? 0;
    grid.current?.resize(now.current.states.length, width, now.current.zoom);
    grid.current?.draw(now.current.states, now.current.chosen);
  };
  useEffect(() => {
    if (canvas.current === null || frame.current === null) return undefined;
    grid.current = new Grid(canvas.current);
    const recolour = (): void => {
      grid.current?.recolour();
      grid.current?.draw(now.current.states, now.current.chosen);
    };
    grid.current.recolour();
    const sized = new ResizeObserver(lay);
    sized.observe(frame.current);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    addEventListener('theme', recolour);
    dark.addEventListener('change', recolour);
    return () => {
      sized.disconnect();
      removeEventListener('theme', recolour);
      dark.removeEventListener('change', recolour);
    };
  }, []);
  useEffect(lay, [zoom, states.length]);
  useEffect(() => grid.current?.draw(states, chosen), [states, chosen]);
  useEffect(() => {
    if (chosen !== undefined && frame.current !== null)
      frame.current.scrollTop = (grid.current?.topOf(chosen) ?? 0) - 100;
  }, [chosen, zoom]);
  const robotUnder = (event: MouseEvent): number | undefined =>
    grid.current?.robotAt(event.offsetX, event.offsetY, states.length);
  const onMove = (event: MouseEvent): void => {
    const robot = robotUnder(event);
    const { left = 0, top = 0 } = frame.current?.getBoundingClientRect() ?? {};
    setUnder(robot === undefined ? undefined : { robot, x: event.clientX - left, y: event.clientY - top });
  };
  const onClick = (event: MouseEvent): void => {
    const robot = robotUnder(event);
    if (robot !== undefined) onChoose(robot);
  };
  const onWheel = (event: WheelEvent): void => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    onZoom(event.deltaY < 0 ? 1 : -1);
  };
  const text = countsOf(states).map(({ state, robots }) => `${robots} ${state.label}`);
  return html`<div class="cells">
    <div class="frame" ref=${frame} tabindex="0" role="group" aria-label="Cells of robots">
      <canvas ref=${canvas} role="img" aria-label=${`Robots: ${text.join(', ')}`} onMouseMove=${onMove}
        onMouseLeave=${() => setUnder(undefined)} onClick=${onClick} onWheel=${onWheel}></canvas>
    </div>
    ${under === undefined ? '' : html`<div class="tip" style=${{ left: `${under.x + 14}px`, top: `${under.y + 14}px` }}>${nameOf(prefix, under.robot)} · ${labelOf(states[under.robot])}</div>`}
  </div>`;
}
