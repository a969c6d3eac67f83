#!/usr/bin/env node
/**
 * Starts the command `muster`, or says which Node it needs where this one cannot run it. Written in the JavaScript of
 * Node 12, which reads a file to its end before it runs any of it.
 */
const [place, main, cache] = findMain();
const { engines } = require(place);
const needed = engines.node.replace('>=', '');
// That of EXIT.harness, which an old Node cannot load; 1 would mean that a MUST failed.
const FAILED = 3;

if (isOlder(process.versions.node, needed)) {
  const found = `this is Node ${process.versions.node} (${process.execPath})`;
  process.stderr.write(`muster: needs Node ${needed} or later, and ${found}: npm i -D node brings one\n`);
  process.exitCode = FAILED;
} else {
  // What never comes to its end is no success.
  process.exitCode = FAILED;
  // Else compiling, and in a checkout stripping types, is done again at each start.
  require('node:module').enableCompileCache(cache);
  import(main).catch((error) => {
    process.stderr.write(`muster: ${error.stack}\n`);
    process.exitCode = FAILED;
  });
}

/**
 * Where the package's description is, and the command: compiled in a package, TypeScript in a checkout, with a cache of
 * its own.
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
