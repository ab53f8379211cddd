// A service that answers as it is told: each request takes the next answer, the last one stays.
import { createServer } from 'node:http';
import { once } from 'node:events';

export async function stand(t, ...answers) {
  const asked = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    asked.push({ method: request.method, url: request.url, headers: request.headers, body });
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer === 'hang up') return request.socket.destroy();
    if (typeof answer === 'function') return answer(request, response);
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', 'x-request-id': 'r-1', ...answer.headers });
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}`, asked };
}

export const failure = (status, code, headers) => ({ status, headers, body: { error: { code, message: `${code} it is` } } });
