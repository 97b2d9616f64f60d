export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function request(method, path, query, body) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined) {
        parameters.append(name, each);
      }
    }
  }
  const text = parameters.toString();
  let response;
  try {
    response = await fetch(`api/${path}${text ? '?' + text : ''}`, {
      method,
      headers: body ? { 'Content-Type': 'application/json' } : {},
      body: body ? JSON.stringify(body) : undefined,
    });
  } catch (e) {
    throw new ApiError(0, 'The console does not answer: it has ended.');
  }
  const answer = await response.json();
  if (!response.ok) {
    throw new ApiError(response.status, answer.error);
  }
  return answer;
}

export const get = (path, query) => request('GET', path, query);
export const send = (method, path, body = {}) => request(method, path, null, body);

export function download(table, key, column) {
  const parameters = new URLSearchParams({ table, column });
  key.forEach(part => parameters.append('key', part));
  return `api/value?${parameters}`;
}
