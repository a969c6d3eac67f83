/** Draws every robot as a cell on a canvas; only cells that have changed are drawn again. */
import { STATES } from './states.ts';

/** Where the cells are, in pixels of the page. */
interface Layout {
  columns: number;
  /** Side of a cell with its gap. */
  side: number;
  rows: number;
}

const LARGEST_SIDE = 22;
const SMALLEST_SIDE = 3;
/** Of the grid, as it is without zoom. */
const HEIGHT = 300;

/** The largest cells with which `robots` fit into the width and the height, times the zoom. */
export function layoutOf(robots: number, width: number, zoom: number): Layout {
  let side = LARGEST_SIDE;
  while (side > SMALLEST_SIDE && Math.ceil(robots / Math.max(1, Math.floor(width / side))) * side > HEIGHT) side -= 1;
  const zoomed = Math.max(SMALLEST_SIDE, Math.round(side * zoom));
  const columns = Math.max(1, Math.min(robots, Math.floor(width / zoomed)));
  return { columns, side: zoomed, rows: Math.ceil(robots / columns) };
}

/** A grid on a canvas. */
export class Grid {
  readonly #canvas: HTMLCanvasElement;
  #layout: Layout = { columns: 1, side: LARGEST_SIDE, rows: 1 };
  #drawn = '';
  #marked: number | undefined;
  #colours = new Map<string, string>();
  #mark = '';

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
  }

  /** Reads the colours of the page again. */
  recolour(): void {
    const probe = document.createElement('i');
    document.body.append(probe);
    const resolve = (name: string): string => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color;
    };
    this.#colours = new Map(STATES.map(({ letter, colour }) => [letter, resolve(colour)]));
    this.#mark = resolve('ink');
    probe.remove();
    this.#drawn = '';
  }

  /** Lays the cells out anew; everything is drawn with the next call of `draw`. */
  resize(robots: number, width: number, zoom: number): void {
    this.#layout = layoutOf(robots, width, zoom);
    const { columns, side, rows } = this.#layout;
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

  /** The robot at a place of the canvas, in pixels of the page. */
  robotAt(x: number, y: number, robots: number): number | undefined {
    const { columns, side } = this.#layout;
    const column = Math.floor(x / side);
    const robot = Math.floor(y / side) * columns + column;
    return column >= 0 && column < columns && robot >= 0 && robot < robots ? robot : undefined;
  }

  /** Top of a robot's cell, in pixels of the page. */
  topOf(robot: number): number {
    return Math.floor(robot / this.#layout.columns) * this.#layout.side;
  }

  #cell(context: CanvasRenderingContext2D, robot: number, letter: string, marked: boolean): void {
    const { columns, side } = this.#layout;
    const x = (robot % columns) * side;
    const y = Math.floor(robot / columns) * side;
    const gap = side >= 6 ? 1 : 0.5;
    context.clearRect(x, y, side, side);
    context.fillStyle = marked ? this.#mark : (this.#colours.get(letter) ?? this.#mark);
    context.fillRect(x, y, side - gap, side - gap);
    if (!marked) return;
    context.fillStyle = this.#colours.get(letter) ?? this.#mark;
    const rim = Math.max(1, Math.floor(side / 5));
    context.fillRect(x + rim, y + rim, side - gap - 2 * rim, side - gap - 2 * rim);
  }
}
