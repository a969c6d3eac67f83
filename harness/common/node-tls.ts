/**
 * Node's TLS. An `import` of `node:tls` reads every export, and the first look at `rootCertificates` takes 20 ms of
 * processor.
 */
import { getBuiltinModule } from 'node:process';

export const tls = getBuiltinModule('node:tls');
