package io.fovea.streams.broker;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import kafka.Kafka;
import kafka.tools.StorageTool;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.Uuid;

/**
 * A Kafka broker in a separate JVM: one node that is its own controller, on free ports of the
 * loopback address, with a heap of 512 MiB.
 *
 * <p>It ends with {@link #close()}, or when the JVM that started it dies.
 */
public final class Broker implements AutoCloseable {
  private static final Duration UP = Duration.ofSeconds(60);
  private static final int TRIES = 3;

  private final Path folder;
  private final Child child;
  private final String address;
  private final Admin admin;

  /**
   * Starts a broker and waits until it answers.
   *
   * @param folder for its files; removed by {@link #close()}
   */
  public static Broker start(Path folder) throws IOException, InterruptedException {
    AssertionError last = null;
    for (int i = 0; i < TRIES; i++) {
      try {
        return new Broker(Files.createDirectories(folder.resolve("broker-" + i)));
      } catch (AssertionError e) {
        // Another program took a port before the broker did.
        last = e;
      }
    }
    throw last;
  }

  private Broker(Path folder) throws IOException, InterruptedException {
    this.folder = folder;
    InetAddress loopback = InetAddress.getByName("127.0.0.1");
    int port;
    int controller;
    try (ServerSocket a = new ServerSocket(0, 1, loopback);
        ServerSocket b = new ServerSocket(0, 1, loopback)) {
      port = a.getLocalPort();
      controller = b.getLocalPort();
    }
    address = "127.0.0.1:" + port;
    Path properties =
        Files.writeString(
            folder.resolve("server.properties"),
            """
        process.roles=broker,controller
        node.id=1
        controller.quorum.voters=1@127.0.0.1:%2$d
        listeners=PLAINTEXT://127.0.0.1:%1$d,CONTROLLER://127.0.0.1:%2$d
        advertised.listeners=PLAINTEXT://127.0.0.1:%1$d
        listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
        controller.listener.names=CONTROLLER
        log.dirs=%3$s
        auto.create.topics.enable=false
        offsets.topic.num.partitions=2
        offsets.topic.replication.factor=1
        transaction.state.log.num.partitions=2
        transaction.state.log.replication.factor=1
        transaction.state.log.min.isr=1
        share.coordinator.state.topic.replication.factor=1
        share.coordinator.state.topic.min.isr=1
        group.initial.rebalance.delay.ms=0
        group.min.session.timeout.ms=500
        log.cleaner.dedupe.buffer.size=16777216
        """
                .formatted(port, controller, folder.resolve("logs")));
    child =
        Child.start(
            folder.resolve("broker.log"),
            List.of("-Xmx512m"),
            Broker.class.getName(),
            properties.toString());
    try {
      admin = Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, address));
      awaitUp();
    } catch (Throwable e) {
      child.close();
      throw e;
    }
  }

  private void awaitUp() throws InterruptedException {
    child.await("starting", UP, line -> true);
    long end = System.nanoTime() + UP.toNanos();
    for (; ; ) {
      try {
        if (!admin.describeCluster().nodes().get(5, TimeUnit.SECONDS).isEmpty()) {
          return;
        }
      } catch (ExecutionException | TimeoutException e) {
        // not yet
      }
      if (!child.alive() || System.nanoTime() > end) {
        throw new AssertionError("the broker does not answer: " + child.tail());
      }
    }
  }

  /** The address for clients. */
  public String address() {
    return address;
  }

  /** Creates a topic. */
  public void create(String topic, int partitions, Map<String, String> configuration) {
    try {
      admin
          .createTopics(List.of(new NewTopic(topic, partitions, (short) 1).configs(configuration)))
          .all()
          .get();
    } catch (ExecutionException | InterruptedException e) {
      throw new AssertionError("topic " + topic, e);
    }
  }

  public void create(String topic, int partitions) {
    create(topic, partitions, Map.of());
  }

  @Override
  public void close() throws IOException {
    try {
      admin.close(Duration.ZERO);
    } finally {
      child.close();
      delete(folder);
    }
  }

  /** Deletes a folder recursively. */
  public static void delete(Path folder) throws IOException {
    List<Path> all = new ArrayList<>();
    try (Stream<Path> files = Files.walk(folder)) {
      files.forEach(all::add);
    }
    for (Path p : all.reversed()) {
      Files.deleteIfExists(p);
    }
  }

  /** The broker's JVM. Argument: the properties file. */
  public static void main(String[] args) throws IOException {
    ParentPipe mouth = new ParentPipe();
    String[] format = {"format", "-t", Uuid.randomUuid().toString(), "-c", args[0]};
    int status = StorageTool.execute(format, System.err);
    if (status != 0) {
      System.exit(status);
    }
    mouth.say("starting");
    Kafka.main(args);
  }

  /** Properties that each client of this broker needs. */
  Properties properties() {
    Properties p = new Properties();
    p.put(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, address);
    return p;
  }
}
