/** The same in Node, with its own HTTP client: what of Muster's cost is Node's. `open-loop.js URL RATE REQUESTS` */
import http from 'node:http';

const [url, rate, requests] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });
const slot = 1000 / Number(rate);
const began = performance.now();
let next = 0;

function sendDue() {
  while (next < Number(requests) && performance.now() - began >= next * slot) {
    next += 1;
    http.get(url, { agent }, (answer) => answer.resume()).on('error', () => {});
  }
  if (next < Number(requests)) setTimeout(sendDue, 1);
}
sendDue();
