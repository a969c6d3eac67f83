/**
 * Node's TLS, loaded without `import`: importing `node:tls` reads every export, and `rootCertificates` takes 20 ms of
 * processor.
 */
import { getBuiltinModule } from 'node:process';

export const tls = getBuiltinModule('node:tls');
