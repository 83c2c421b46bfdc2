package nexmark;

import java.io.IOException;
import java.io.Serializable;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.connector.sink.SinkV2Provider;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.utils.LogicalTypeChecks;
import org.apache.flink.types.RowKind;

/**
 * The sink `'connector' = 'checksum'`: counts rows and adds their hashes up, as bench/nexmark/answers.py says; what a
 * change takes back is subtracted. Each subtask writes its two numbers into a file of the folder 'path' when it ends.
 */
public final class ChecksumSink implements DynamicTableSinkFactory {
    private static final ConfigOption<String> PATH = ConfigOptions.key("path").stringType().noDefaultValue();
    private static final ConfigOption<String> COLUMNS = ConfigOptions.key("columns").stringType().defaultValue("");

    @Override
    public String factoryIdentifier() {
        return "checksum";
    }

    @Override
    public Set<ConfigOption<?>> requiredOptions() {
        return new HashSet<>(Collections.singletonList(PATH));
    }

    @Override
    public Set<ConfigOption<?>> optionalOptions() {
        return new HashSet<>(Collections.singletonList(COLUMNS));
    }

    @Override
    public DynamicTableSink createDynamicTableSink(Context context) {
        FactoryUtil.TableFactoryHelper helper = FactoryUtil.createTableFactoryHelper(this, context);
        helper.validate();
        RowType row = (RowType) context.getPhysicalRowDataType().getLogicalType();
        String wanted = helper.getOptions().get(COLUMNS);
        List<String> names = wanted.isEmpty() ? row.getFieldNames() : Arrays.asList(wanted.split(","));
        List<Field> fields = new ArrayList<>();
        for (String name : names) {
            int place = row.getFieldIndex(name);
            if (place < 0) {
                throw new IllegalArgumentException("no column " + name + " in " + row);
            }
            fields.add(new Field(place, row.getTypeAt(place)));
        }
        return new Table(new Summing(helper.getOptions().get(PATH), fields));
    }

    private static final class Table implements DynamicTableSink {
        private final Summing sink;

        Table(Summing sink) {
            this.sink = sink;
        }

        @Override
        public ChangelogMode getChangelogMode(ChangelogMode requested) {
            return ChangelogMode.all();
        }

        @Override
        public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
            return SinkV2Provider.of(sink);
        }

        @Override
        public DynamicTableSink copy() {
            return new Table(sink);
        }

        @Override
        public String asSummaryString() {
            return "checksum";
        }
    }

    private static final class Summing implements Sink<RowData> {
        private final String path;
        private final List<Field> fields;

        Summing(String path, List<Field> fields) {
            this.path = path;
            this.fields = fields;
        }

        @Override
        public SinkWriter<RowData> createWriter(WriterInitContext context) {
            Path file = Paths.get(path, context.getTaskInfo().getIndexOfThisSubtask() + ".txt");
            return new Writer(file, fields.toArray(new Field[0]));
        }
    }

    private static final class Writer implements SinkWriter<RowData> {
        private final Path file;
        private final Field[] fields;
        private long rows;
        private long checksum;

        Writer(Path file, Field[] fields) {
            this.file = file;
            this.fields = fields;
        }

        @Override
        public void write(RowData row, Context context) {
            long hash = 42L;
            for (Field field : fields) {
                hash = field.hash(row, hash);
            }
            RowKind kind = row.getRowKind();
            int sign = kind == RowKind.INSERT || kind == RowKind.UPDATE_AFTER ? 1 : -1;
            rows += sign;
            checksum += sign * (hash & 0xFFFFFFFFL);
        }

        @Override
        public void flush(boolean endOfInput) {}

        @Override
        public void close() throws IOException {
            Files.write(file, (rows + " " + checksum).getBytes());
        }
    }

    /** A column, hashed as Spark's xxhash64 does; NULL leaves the hash as it is. */
    private static final class Field implements Serializable {
        private final int place;
        private final LogicalType type;

        Field(int place, LogicalType type) {
            this.place = place;
            this.type = type;
        }

        long hash(RowData row, long seed) {
            if (row.isNullAt(place)) {
                return seed;
            }
            switch (type.getTypeRoot()) {
                case CHAR:
                case VARCHAR:
                    byte[] bytes = row.getString(place).toBytes();
                    return XxHash64.ofBytes(bytes, seed);
                case TINYINT:
                    return XxHash64.ofLong(row.getByte(place), seed);
                case SMALLINT:
                    return XxHash64.ofLong(row.getShort(place), seed);
                case INTEGER:
                    return XxHash64.ofLong(row.getInt(place), seed);
                case BIGINT:
                    return XxHash64.ofLong(row.getLong(place), seed);
                case TIMESTAMP_WITHOUT_TIME_ZONE:
                case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                    // A binary row holds a short time in another form than a long one: the precision has to be its own.
                    TimestampData time = row.getTimestamp(place, LogicalTypeChecks.getPrecision(type));
                    return XxHash64.ofLong(time.getMillisecond() * 1000 + time.getNanoOfMillisecond() / 1000, seed);
                case DECIMAL:
                    DecimalType decimal = (DecimalType) type;
                    BigDecimal value =
                            row.getDecimal(place, decimal.getPrecision(), decimal.getScale()).toBigDecimal();
                    return XxHash64.ofLong(
                            decimal.getScale() == 0 ? value.longValueExact() : value.movePointRight(3).longValue(), seed);
                default:
                    throw new IllegalArgumentException("no hash for " + type);
            }
        }
    }
}
