#!/usr/bin/env node
/**
 * Starts the command `muster`, or names the required Node if this Node is too old. Node 12 parses a whole file before
 * it runs any line, so this file uses only the JavaScript of Node 12.
 */
const [place, main, cache] = findMain();
const { engines } = require(place);
const needed = engines.node.replace('>=', '');
// Equals EXIT.harness, which an old Node cannot load; exit code 1 would mean that a MUST failed.
const FAILED = 3;

if (isOlder(process.versions.node, needed)) {
  const found = `this is Node ${process.versions.node} (${process.execPath})`;
  process.stderr.write(`muster: needs Node ${needed} or later, and ${found}: npm i -D node brings one\n`);
  process.exitCode = FAILED;
} else {
  // Remains the exit code if `main` never ends.
  process.exitCode = FAILED;
  // Saves compiling, and in a checkout stripping types, at each start.
  require('node:module').enableCompileCache(cache);
  import(main).catch((error) => {
    process.stderr.write(`muster: ${error.stack}\n`);
    process.exitCode = FAILED;
  });
}

/**
 * Finds the package's description and the command, which is compiled in a package and TypeScript in a checkout. A
 * checkout has a compile cache of its own.
 */
function findMain() {
  try {
    return [require.resolve('../../package.json'), './main.ts', `${__dirname}/../../node_modules/.cache/muster`];
  } catch (_) {
    return [require.resolve('../../../package.json'), './main.js'];
  }
}

function isOlder(version, than) {
  const [major, minor] = version.split('.').map(Number);
  const [leastMajor, leastMinor] = than.split('.').map(Number);
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
}
