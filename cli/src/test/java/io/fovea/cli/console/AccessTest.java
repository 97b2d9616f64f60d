package io.fovea.cli.console;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpContext;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpPrincipal;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;

/** The names by which a console is reached, with ports that only root can bind to. */
class AccessTest {
  private static final InetSocketAddress ADDRESS = new InetSocketAddress("127.0.0.1", 0);

  @Test
  void browsersLeaveOutDefaultPorts() throws Exception {
    Access http = new Access(Site.loopback(80), 80);
    accepts(http, "127.0.0.1", "http://127.0.0.1");
    accepts(http, "localhost:80", "http://localhost:80");
    accepts(http, "[::1]", "http://[::1]");
    refuses(http, "127.0.0.1:443", "https://127.0.0.1");

    SSLContext tls = SSLContext.getDefault();
    Access https = new Access(new Site(ADDRESS, "shop.example.com", tls, null), 443);
    accepts(https, "Shop.example.com", "https://shop.example.com");
    refuses(https, "shop.example.com:80", "http://shop.example.com");

    Access other = new Access(Site.loopback(8080), 8080);
    accepts(other, "127.0.0.1:8080", "http://127.0.0.1:8080");
    refuses(other, "127.0.0.1", "http://127.0.0.1");

    URI url = URI.create("https://shop.example.com:443/");
    accepts(
        new Access(new Site(ADDRESS, "127.0.0.1", null, url), 8080),
        "shop.example.com",
        "https://shop.example.com");
  }

  private static void accepts(Access access, String host, String origin) {
    HttpExchange request = new Post(host, origin);
    assertDoesNotThrow(() -> access.requireHost(request), host);
    assertDoesNotThrow(() -> access.requireOrigin(request), origin);
  }

  private static void refuses(Access access, String host, String origin) {
    HttpExchange request = new Post(host, origin);
    assertThrows(Failure.class, () -> access.requireHost(request), host);
    assertThrows(Failure.class, () -> access.requireOrigin(request), origin);
  }

  /** A request that has only headers. */
  private static final class Post extends HttpExchange {
    private final Headers headers;

    Post(String host, String origin) {
      headers =
          Headers.of(
              Map.of(
                  "Host", List.of(host),
                  "Origin", List.of(origin),
                  "Content-Type", List.of("application/json")));
    }

    @Override
    public Headers getRequestHeaders() {
      return headers;
    }

    @Override
    public String getRequestMethod() {
      return "POST";
    }

    @Override
    public Headers getResponseHeaders() {
      throw new UnsupportedOperationException();
    }

    @Override
    public URI getRequestURI() {
      throw new UnsupportedOperationException();
    }

    @Override
    public HttpContext getHttpContext() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}

    @Override
    public InputStream getRequestBody() {
      throw new UnsupportedOperationException();
    }

    @Override
    public OutputStream getResponseBody() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void sendResponseHeaders(int status, long length) {
      throw new UnsupportedOperationException();
    }

    @Override
    public InetSocketAddress getRemoteAddress() {
      throw new UnsupportedOperationException();
    }

    @Override
    public int getResponseCode() {
      throw new UnsupportedOperationException();
    }

    @Override
    public InetSocketAddress getLocalAddress() {
      throw new UnsupportedOperationException();
    }

    @Override
    public String getProtocol() {
      throw new UnsupportedOperationException();
    }

    @Override
    public Object getAttribute(String name) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void setAttribute(String name, Object value) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void setStreams(InputStream in, OutputStream out) {
      throw new UnsupportedOperationException();
    }

    @Override
    public HttpPrincipal getPrincipal() {
      throw new UnsupportedOperationException();
    }
  }
}
