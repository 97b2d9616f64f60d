package io.fovea.cli;

import io.fovea.cli.console.ConsoleServer;
import io.fovea.cli.console.Site;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "serve",
    header = "Shows the database in a browser.",
    description = {
      "Serves a console for a database that no process has open: tables, records, activity, a map"
          + " of the pages, verification and backups. Prints its URL, which contains a token;"
          + " without the token nothing is answered. Ctrl-C ends it.",
      "Opens FILE for reading, or with --write as an application does, which recovers it if it was"
          + " not closed. It stays open, so no application can write to it.",
      "Listens on this machine only. To listen on another address, give --listen, and either"
          + " --keystore or --behind-proxy."
    })
final class ServeCommand extends FileCommand {
  @Mixin final CopyOption copy = new CopyOption();

  @Option(
      names = "--port",
      paramLabel = "PORT",
      description = "The port; 0, the default, for any free one.")
  int port;

  @Option(names = "--write", description = "Allows the console to change records.")
  boolean write;

  @Option(
      names = "--backups",
      paramLabel = "DIRECTORY",
      description = {
        "The directory for backups, each in a new directory; by default, that of FILE."
      })
  @Nullable Path backups;

  @Option(
      names = "--listen",
      paramLabel = "HOST",
      description = {
        "Listens on this host name or address, by which browsers, or the proxy, reach the console."
      })
  @Nullable String host;

  @Option(
      names = "--behind-proxy",
      paramLabel = "URL",
      description = {
        "The https URL by which browsers reach the console through a reverse proxy, which encrypts"
            + " the connection and keeps the Host header."
      })
  @Nullable String proxy;

  @Option(
      names = "--keystore",
      paramLabel = "KEYSTORE",
      description = "Serves HTTPS with the key and certificate of this PKCS #12 file.")
  @Nullable Path keystore;

  @Option(
      names = "--keystore-password",
      paramLabel = "PASSWORDFILE",
      description = "The file whose first line is the password of the keystore.")
  @Nullable Path password;

  @Override
  public Integer call() {
    if (write && copy.copy) {
      throw mistake("changes in a copy are lost: give --write or --copy");
    }
    Site site = site();
    CountDownLatch end = new CountDownLatch(1);
    CountDownLatch closed = new CountDownLatch(1);
    Thread hook = new Thread(() -> endAndWait(end, closed), "fovea-console-end");
    try (ConsoleDatabase db = ConsoleDatabase.open(this);
        ConsoleServer server = start(site, db)) {
      Runtime.getRuntime().addShutdownHook(hook);
      announce(server);
      end.await();
    } catch (InterruptedException e) {
      // as after Ctrl-C
    } finally {
      closed.countDown();
      try {
        Runtime.getRuntime().removeShutdownHook(hook);
      } catch (IllegalStateException e) {
        // the JVM is ending
      }
    }
    return Main.OK;
  }

  /** On Ctrl-C: lets the command close the database. */
  private static void endAndWait(CountDownLatch end, CountDownLatch closed) {
    end.countDown();
    try {
      closed.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private ConsoleServer start(Site site, ConsoleDatabase db) {
    try {
      return ConsoleServer.start(site, new ConsoleApi(this, db).routes(), ConsoleApi::failure);
    } catch (IOException e) {
      throw mistake("can't listen on " + site.name() + ":" + port + ": " + e.getMessage());
    }
  }

  private void announce(ConsoleServer server) {
    if (json) {
      Map<String, Object> m = new LinkedHashMap<>();
      m.put("url", server.url());
      m.put("write", write);
      out().println(Json.of(m));
    } else {
      out()
          .println(
              "Serving "
                  + file()
                  + (write ? "" : copy.copy ? ", a copy" : ", read-only")
                  + ". Ctrl-C ends. Open:");
      out().println(server.url());
    }
    out().flush();
  }

  private Site site() {
    if (port < 0 || port > 65535) {
      throw mistake("--port takes a number up to 65535");
    }
    SSLContext tls = tls();
    URI by = proxyUrl();
    InetAddress address;
    String name = host == null ? "127.0.0.1" : host;
    try {
      address = InetAddress.getByName(name);
    } catch (UnknownHostException e) {
      throw mistake("--listen takes a host name or address of this machine, not '" + name + "'");
    }
    if (name.isBlank() || address.isAnyLocalAddress() && by == null) {
      throw mistake("--listen takes the name or address that browsers use, not '" + name + "'");
    }
    if (!address.isLoopbackAddress() && tls == null && by == null) {
      throw mistake(
          "other machines can read what is sent to "
              + name
              + ": give --keystore for HTTPS, or --behind-proxy");
    }
    return new Site(new InetSocketAddress(address, port), name, tls, by);
  }

  private @Nullable URI proxyUrl() {
    String text = proxy;
    if (text == null) {
      return null;
    }
    try {
      URI url = new URI(text);
      if ("https".equals(url.getScheme())
          && url.getHost() != null
          && url.getRawUserInfo() == null
          && url.getRawQuery() == null
          && url.getRawFragment() == null) {
        return url;
      }
    } catch (URISyntaxException e) {
      // not a URL
    }
    throw mistake("--behind-proxy takes a URL like https://fovea.example.com, not '" + text + "'");
  }

  private @Nullable SSLContext tls() {
    Path keys = keystore;
    Path secret = password;
    if (keys == null && secret == null) {
      return null;
    }
    if (keys == null || secret == null) {
      throw mistake("--keystore and --keystore-password belong together");
    }
    try (InputStream in = Files.newInputStream(keys)) {
      char[] word = Files.readString(secret).lines().findFirst().orElse("").toCharArray();
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(in, word);
      KeyManagerFactory managers =
          KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      managers.init(store, word);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(managers.getKeyManagers(), null, null);
      return context;
    } catch (IOException e) {
      throw mistake("the keystore " + keys + " can't be read: " + Text.why(e));
    } catch (GeneralSecurityException e) {
      throw mistake("the keystore " + keys + " has no usable key: " + e.getMessage());
    }
  }

  /** The directory in which backups are created. */
  Path backups() {
    Path given = backups;
    return given != null ? given : Objects.requireNonNull(file().toAbsolutePath().getParent());
  }
}
