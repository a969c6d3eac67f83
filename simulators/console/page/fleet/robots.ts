import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { announce, Card, colourOf, followLook, html, thousands } from '../shell.ts';
import type { FleetDocument } from './document.ts';

interface State {
  letter: string;
  label: string;
  colour: string;
  /** SVG path in a 10 by 10 square; shapes tell states apart without colours. */
  shape: string;
}

const CROSS = 'M0 0H3L5 2.5 7 0H10V3L7.5 5 10 7V10H7L5 7.5 3 10H0V7L2.5 5 0 3Z';

const STATES: readonly State[] = [
  { letter: 'u', label: 'reached', colour: 'good', shape: 'M0 0H10V10H0Z' },
  { letter: 'o', label: 'online', colour: 'online', shape: 'M0 0H10V10H0ZM2.5 2.5V7.5H7.5V2.5Z' },
  { letter: 'p', label: 'being rolled out', colour: 'warn', shape: 'M0 10V0L10 10Z' },
  { letter: 'm', label: 'missed', colour: 'bad', shape: CROSS },
  { letter: 'c', label: 'connecting', colour: 'joining', shape: 'M0 3H10V7H0Z' },
  { letter: '.', label: 'waiting', colour: 'idle', shape: 'M3 3H7V7H3Z' },
  { letter: 'x', label: 'cut off', colour: 'cut', shape: 'M0 10V6L6 0H10V4L4 10Z' },
  { letter: 'd', label: 'down', colour: 'down', shape: 'M0 7H10V10H0Z' },
  { letter: 'r', label: 'refused', colour: 'bad', shape: 'M3.5 0H6.5V3.5H10V6.5H6.5V10H3.5V6.5H0V3.5H3.5Z' },
  { letter: 's', label: 'stopped', colour: 'soft', shape: 'M3 0H7V10H3Z' },
];

function countsOf(states: string): { state: State; robots: number }[] {
  const counts = new Map<string, number>();
  for (const letter of states) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  return STATES.flatMap((state) => {
    const robots = counts.get(state.letter) ?? 0;
    return robots === 0 ? [] : [{ state, robots }];
  });
}

const LARGEST_SIDE = 22;
const SMALLEST_SIDE = 3;
const HEIGHT = 300;

class Grid {
  readonly #canvas: HTMLCanvasElement;
  #layout = { columns: 1, side: LARGEST_SIDE };
  #drawn = '';
  #marked: number | undefined;
  #colours = new Map<string, string>();
  #shapes = new Map(STATES.map(({ letter, shape }) => [letter, new Path2D(shape)]));
  #mark = '';

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
  }

  recolour(): void {
    this.#colours = new Map(STATES.map(({ letter, colour }) => [letter, colourOf(colour)]));
    this.#mark = colourOf('ink');
    this.#drawn = '';
  }

  resize(robots: number, width: number): void {
    let side = LARGEST_SIDE;
    while (side > SMALLEST_SIDE && Math.ceil(robots / Math.max(1, Math.floor(width / side))) * side > HEIGHT) side -= 1;
    const columns = Math.max(1, Math.min(robots, Math.floor(width / side)));
    const rows = Math.ceil(robots / columns);
    this.#layout = { columns, side };
    const ratio = devicePixelRatio;
    this.#canvas.width = Math.max(1, Math.round(columns * side * ratio));
    this.#canvas.height = Math.max(1, Math.round(rows * side * ratio));
    this.#canvas.style.width = `${columns * side}px`;
    this.#canvas.style.height = `${rows * side}px`;
    this.#drawn = '';
  }

  draw(states: string, marked: number | undefined): void {
    const context = this.#canvas.getContext('2d');
    if (context === null) return;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    for (let robot = 0; robot < states.length; robot += 1) {
      const known = states[robot] === this.#drawn[robot] && robot !== this.#marked && robot !== marked;
      if (!known) this.#cell(context, robot, states[robot] ?? '.', robot === marked);
    }
    this.#drawn = states;
    this.#marked = marked;
  }

  /** `x`, `y`: CSS pixels of the canvas. */
  robotAt(x: number, y: number, robots: number): number | undefined {
    const { columns, side } = this.#layout;
    const column = Math.floor(x / side);
    const robot = Math.floor(y / side) * columns + column;
    return column >= 0 && column < columns && robot >= 0 && robot < robots ? robot : undefined;
  }

  topOf(robot: number): number {
    return Math.floor(robot / this.#layout.columns) * this.#layout.side;
  }

  #cell(context: CanvasRenderingContext2D, robot: number, letter: string, marked: boolean): void {
    const { columns, side } = this.#layout;
    const x = (robot % columns) * side;
    const y = Math.floor(robot / columns) * side;
    const gap = side >= 6 ? 1 : 0.5;
    context.clearRect(x, y, side, side);
    const rim = marked ? Math.max(1, Math.floor(side / 5)) : 0;
    if (marked) {
      context.fillStyle = this.#mark;
      context.fillRect(x, y, side - gap, side - gap);
      context.clearRect(x + rim, y + rim, side - gap - 2 * rim, side - gap - 2 * rim);
    }
    context.fillStyle = this.#colours.get(letter) ?? this.#mark;
    const shape = this.#shapes.get(letter);
    const inner = side - gap - 2 * rim;
    // Minimum side of a shape, in CSS pixels; smaller cells are plain squares.
    if (shape === undefined || inner < 4) return void context.fillRect(x + rim, y + rim, inner, inner);
    context.save();
    context.translate(x + rim, y + rim);
    context.scale(inner / 10, inner / 10);
    context.fill(shape, 'evenodd');
    context.restore();
  }
}

interface RobotsProps {
  document: FleetDocument;
  chosen: number | undefined;
  onChoose(robot: number): void;
}

const nameOf = (prefix: string, robot: number): string => `${prefix}-${String(robot).padStart(6, '0')}`;

export function RobotsCard({ document, chosen, onChoose }: RobotsProps): VNode {
  const { states, prefix } = document;
  const counts = countsOf(states);
  const robotsOf = Object.fromEntries(counts.map(({ state, robots }) => [state.label, robots]));
  const find = (event: Event): void => {
    event.preventDefault();
    const text = String(new FormData(event.target as HTMLFormElement).get('name') ?? '').trim();
    const digits = /(\d+)$/.exec(text)?.[1];
    const robot = digits === undefined ? -1 : Number(digits);
    const whole = /^\d+$/.test(text) || text === nameOf(prefix, robot);
    const names = `${nameOf(prefix, 0)} to ${nameOf(prefix, states.length - 1)}`;
    if (whole && robot >= 0 && robot < states.length) onChoose(robot);
    else announce(`No robot is called ${text || 'nothing'}: ${names}`, 'wrong');
  };
  return html`<${Card} title="Robots" className="robots" note=${thousands(states.length)}>
    <ul class="legend" data-counts=${JSON.stringify(robotsOf)}>
      ${counts.map(
        ({ state, robots }) => html`<li key=${state.letter}>
        <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true" data-shape=${state.letter}
          fill=${`var(--${state.colour})`}>
          <path d=${state.shape} fill-rule="evenodd" /></svg>${state.label} <b>${thousands(robots)}</b></li>`,
      )}
    </ul>
    <${Cells} document=${document} chosen=${chosen} onChoose=${onChoose} />
    <form class="buttons" onSubmit=${find}>
      <label class="inline">Robot<input name="name" placeholder=${nameOf(prefix, 0)} autocomplete="off" /></label>
      <button type="submit">Open</button>
    </form>
  <//>`;
}

function Cells({ document, chosen, onChoose }: RobotsProps): VNode {
  const { states, prefix } = document;
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const grid = useRef<Grid | undefined>(undefined);
  const now = useRef({ states, chosen });
  now.current = { states, chosen };
  const [under, setUnder] = useState<{ robot: number; x: number; y: number } | undefined>(undefined);
  const lay = (): void => {
    const width = frame.current?.clientWidth ?? 0;
    grid.current?.resize(now.current.states.length, width);
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
    return followLook(frame.current, lay, recolour);
  }, []);
  useEffect(lay, [states.length]);
  useEffect(() => grid.current?.draw(states, chosen), [states, chosen]);
  useEffect(() => {
    if (chosen !== undefined && frame.current !== null)
      frame.current.scrollTop = (grid.current?.topOf(chosen) ?? 0) - 100;
  }, [chosen]);
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
  const text = countsOf(states).map(({ state, robots }) => `${robots} ${state.label}`);
  const pointed = under && STATES.find(({ letter }) => letter === states[under.robot]);
  return html`<div class="cells">
    <div class="frame" ref=${frame} tabindex="0" role="group" aria-label="Cells of robots">
      <canvas ref=${canvas} role="img" aria-label=${`Robots: ${text.join(', ')}`} onMouseMove=${onMove}
        onMouseLeave=${() => setUnder(undefined)} onClick=${onClick}></canvas>
    </div>
    ${
      under === undefined
        ? ''
        : html`<div class="tip" style=${{ left: `${under.x + 14}px`, top: `${under.y + 14}px` }}>
      ${nameOf(prefix, under.robot)} · ${pointed?.label ?? 'unknown'}</div>`
    }
  </div>`;
}
