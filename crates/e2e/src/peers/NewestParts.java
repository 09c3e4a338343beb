// Keeps the newest part per (business, SKU, shop) of the shipments in a topic, with Kafka Streams. A part is kept as its
// bytes; only its key and version are decoded.

import com.google.protobuf.CodedInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

public final class NewestParts {
  static final AtomicLong BEGAN = new AtomicLong();
  static final AtomicLong PARTS = new AtomicLong();

  public static void main(String[] arguments) throws Exception {
    String brokers = arguments[0], topic = arguments[1], guarantee = arguments[2], state = arguments[3];
    long messages = Long.parseLong(arguments[4]);
    String application = "newest-parts-" + UUID.randomUUID();
    Properties settings = new Properties();
    settings.putAll(Map.of(
        "application.id", application,
        "bootstrap.servers", brokers,
        "processing.guarantee", guarantee,
        "num.stream.threads", "2",
        "commit.interval.ms", "100",
        "auto.offset.reset", "earliest",
        "replication.factor", "1",
        "max.partition.fetch.bytes", "4194304",
        "state.dir", state));
    Topology topology = new Topology()
        .addSource("shipments", new ByteArrayDeserializer(), new ByteArrayDeserializer(), topic)
        .addProcessor("newest", Newest::new, "shipments")
        .addStateStore(
            Stores.keyValueStoreBuilder(
                Stores.persistentKeyValueStore("parts"), Serdes.ByteArray(), Serdes.ByteArray()),
            "newest");
    try (KafkaStreams streams = new KafkaStreams(topology, settings);
        Admin admin = Admin.create(Map.of("bootstrap.servers", brokers))) {
      streams.start();
      while (committed(admin, application) < messages) {
        Thread.sleep(20);
      }
      double seconds = (System.nanoTime() - BEGAN.get()) / 1e9;
      System.out.println("{\"seconds\":" + seconds + ",\"parts\":" + PARTS.get() + "}");
    }
  }

  /** Messages behind which the application's results are durable. */
  static long committed(Admin admin, String application) throws Exception {
    return admin.listConsumerGroupOffsets(application).partitionsToOffsetAndMetadata().get().values().stream()
        .mapToLong(offset -> offset == null ? 0 : offset.offset())
        .sum();
  }

  static final class Newest implements Processor<byte[], byte[], Void, Void> {
    private KeyValueStore<byte[], byte[]> parts;

    @Override
    public void init(ProcessorContext<Void, Void> context) {
      parts = context.getStateStore("parts");
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      BEGAN.compareAndSet(0, System.nanoTime());
      try {
        CodedInputStream batch = CodedInputStream.newInstance(record.value());
        for (int tag = batch.readTag(); tag != 0; tag = batch.readTag()) {
          offer(CodedInputStream.newInstance(batch.readByteArray()));
        }
      } catch (IOException error) {
        throw new IllegalStateException(error);
      }
    }

    /** The basic part, and a map of services. */
    private void offer(CodedInputStream offer) throws IOException {
      for (int tag = offer.readTag(); tag != 0; tag = offer.readTag()) {
        byte[] value = offer.readByteArray();
        if (tag >>> 3 == 1) {
          part(value);
          continue;
        }
        CodedInputStream entry = CodedInputStream.newInstance(value);
        for (int inner = entry.readTag(); inner != 0; inner = entry.readTag()) {
          if (inner >>> 3 == 2) {
            part(entry.readByteArray());
          } else {
            entry.skipField(inner);
          }
        }
      }
    }

    private void part(byte[] bytes) throws IOException {
      byte[] key = null;
      long version = 0;
      CodedInputStream part = CodedInputStream.newInstance(bytes);
      for (int tag = part.readTag(); tag != 0; tag = part.readTag()) {
        switch (tag >>> 3) {
          case 1 -> key = part.readByteArray();
          case 2 -> version = version(CodedInputStream.newInstance(part.readByteArray()));
          default -> part.skipField(tag);
        }
      }
      PARTS.incrementAndGet();
      byte[] stored = parts.get(key);
      if (stored == null || ByteBuffer.wrap(stored).getLong() < version) {
        parts.put(key, ByteBuffer.allocate(8 + bytes.length).putLong(version).put(bytes).array());
      }
    }

    private static long version(CodedInputStream meta) throws IOException {
      for (int tag = meta.readTag(); tag != 0; tag = meta.readTag()) {
        if (tag >>> 3 == 1) {
          return meta.readInt64();
        }
        meta.skipField(tag);
      }
      return 0;
    }
  }
}
