/** Loaded into a server: says so when something has changed a prototype that everything inherits from. */
import process from 'node:process';

const EVERY_MS = 20;
const prototypes = [Object.prototype, Array.prototype, Function.prototype, String.prototype, Number.prototype];
const names = (): string => prototypes.map((each) => Reflect.ownKeys(each).map(String).join()).join(';');

const before = names();
const timer = setInterval(() => {
  const now = names();
  if (now === before) return;
  process.stderr.write(`prototypes are polluted: ${now.slice(-100)}\n`);
  clearInterval(timer);
}, EVERY_MS).unref();
