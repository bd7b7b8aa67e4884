//! Which member of which public structure each of our keys is.

/// A structure, and its members under our keys.
#[derive(Debug)]
pub(super) struct Structure {
    /// Our page; `@` and a version where it has several layouts.
    pub(super) page: &'static str,
    /// Beginning of the package's folder, `:`, and the file.
    pub(super) file: &'static str,
    /// Its name.
    pub(super) name: &'static str,
    /// Structures that it uses, in an order that compiles.
    pub(super) needs: &'static [&'static str],
    /// Constants that it uses.
    pub(super) constants: &'static [&'static str],
    /// Where it begins in our page.
    pub(super) base: usize,
    /// Our key, the member, and where it holds two: bytes to skip and bytes to take (0: all).
    pub(super) members: Vec<(String, String, usize, usize)>,
}

/// Sizes of consecutive fields, named.
#[derive(Debug)]
pub(super) struct Array {
    pub(super) page: &'static str,
    pub(super) file: &'static str,
    pub(super) name: &'static str,
    /// Which of the sizes.
    pub(super) column: &'static str,
    /// Our keys, and their names there.
    pub(super) fields: &'static [(&'static str, &'static str)],
}

const MICRON: &str = "nvme-cli-:plugins/micron/micron-nvme.c";
const WDC: &str = "nvme-cli-:plugins/wdc/wdc-nvme.c";
const MEMBLAZE: &str = "nvme-cli-:plugins/memblaze/memblaze-nvme.c";
const TELEMETRY: &str = "nvme-cli-:plugins/ocp/ocp-telemetry-decode.h";

/// All structures.
#[expect(clippy::too_many_lines, reason = "it is a table")]
pub(super) fn structures() -> Vec<Structure> {
    let plain = |page, file, name, members: &[(&str, &str)]| Structure {
        page,
        file,
        name,
        needs: &[],
        constants: &[],
        base: 0,
        members: members.iter().map(|(key, member)| whole(key, member)).collect(),
    };
    let sensors = (1..=8).map(|sensor| {
        let key = format!("temperature-sensor-{sensor}-kelvin");
        whole(&key, &format!("temp_sensor[{}]", sensor - 1))
    });
    let mut smart =
        plain("nvme-smart", "libnvme-dev:usr/include/nvme/types.h", "nvme_smart_log", NVME_SMART);
    smart.members.extend(sensors);
    let mut boot = plain("ocp-boot-ssd-smart", WDC, "wdc_nvme_ext_smart_log", BOOT_SSD);
    let mut device = plain("wdc-device-info", WDC, "wdc_ssd_ca_perf_stats", WDC_DEVICE);
    let mut packed = plain("wdc-nand-statistics@3", WDC, "wdc_nand_stats_V3", WDC_NAND_3);
    for (structure, split) in [
        (&mut boot, BOOT_SSD_SPLIT),
        (&mut device, WDC_DEVICE_SPLIT),
        (&mut packed, WDC_NAND_SPLIT),
    ] {
        let parts = split.iter().map(|(key, member, skip, width)| {
            ((*key).to_owned(), (*member).to_owned(), *skip, *width)
        });
        structure.members.extend(parts);
    }
    let common = "nvme_ocp_telemetry_common_header";
    let header = plain("ocp-telemetry", TELEMETRY, common, TELEMETRY_HEADER);
    let area = Structure {
        needs: &[
            "nvme_ocp_telemetry_smart",
            "nvme_ocp_telemetry_smart_extended",
            "nvme_ocp_event_fifo_offsets",
        ],
        base: 512,
        ..plain("ocp-telemetry", TELEMETRY, "nvme_ocp_header_in_da1", TELEMETRY_AREA)
    };
    vec![
        smart,
        plain(
            "ocp-smart",
            "nvme-cli-:plugins/ocp/ocp-smart-extended-log.h",
            "ocp_smart_extended_log",
            OCP_SMART,
        ),
        latency_monitor(),
        area,
        header,
        boot,
        device,
        packed,
        plain("wdc-nand-statistics@0", WDC, "wdc_nand_stats", WDC_NAND_0),
        plain("wdc-vendor-smart", WDC, "wdc_ssd_d0_smart_log", WDC_VENDOR),
        histogram("memblaze-latency", MEMBLAZE, "latency_stats_v2_0", MEMBLAZE_GROUPS),
        Structure {
            constants: &["LATENCY_BUCKET_COUNT", "LATENCY_BUCKET_RSVD"],
            ..histogram("micron-latency", MICRON, "micron_latency_stats", MICRON_GROUPS)
        },
        plain(
            "solidigm-attributes",
            "nvme-cli-:plugins/solidigm/solidigm-smart.c",
            "nvme_additional_smart_log_item",
            &[
                ("program-fail-count", "raw"),
                ("program-fail-normalized-percent", "normalized"),
                ("erase-min-count", "wear_level.min"),
                ("erase-max-count", "wear_level.max"),
                ("erase-average-count", "wear_level.avg"),
                ("throttle-status-percent", "thermal_throttle.pct"),
                ("throttle-event-count", "thermal_throttle.count"),
            ],
        ),
        memblaze_item("memblaze-attributes@0", "smart_log_add_item_12"),
        memblaze_item("memblaze-attributes@2", "smart_log_add_item_12"),
        memblaze_item("memblaze-attributes@3", "smart_log_add_item_10"),
    ]
}

fn whole(key: &str, member: &str) -> (String, String, usize, usize) {
    (key.to_owned(), member.to_owned(), 0, 0)
}

fn memblaze_item(page: &'static str, name: &'static str) -> Structure {
    let members = [
        ("program-fail-count", "raw"),
        ("program-fail-normalized-percent", "norm"),
        ("erase-min-count", "wear_level.min"),
        ("erase-max-count", "wear_level.max"),
        ("erase-average-count", "wear_level.avg"),
    ];
    Structure {
        page,
        file: MEMBLAZE,
        name,
        needs: &["wear_level"],
        constants: &[],
        base: 0,
        members: members.iter().map(|(key, member)| whole(key, member)).collect(),
    }
}

/// Buckets and operations in the order in which nvme-cli prints them.
fn latency_monitor() -> Structure {
    let mut members: Vec<_> =
        LATENCY_MONITOR.iter().map(|(key, member)| whole(key, member)).collect();
    for window in ["active", "static"] {
        for bucket in 0..4 {
            for (commands, index) in [("read", "READ"), ("write", "WRITE"), ("deallocate", "TRIM")]
            {
                let key = format!("{window}-bucket-{bucket}-{commands}");
                let counter = format!("{window}_bucket_counter[{bucket}][{index}]");
                members.push(whole(&format!("{key}-count"), &counter));
                for (unit, array) in [("stamp", "timestamp"), ("latency-ms", "measured")] {
                    let array = match array {
                        "measured" => format!("{window}_measured_latency"),
                        _ => format!("{window}_latency_timestamp"),
                    };
                    let member = format!("{array}[3-{bucket}][{index}-1]");
                    members.push(whole(&format!("{key}-{unit}"), &member));
                }
            }
        }
    }
    Structure {
        page: "ocp-latency-monitor",
        file: "nvme-cli-:plugins/ocp/ocp-nvme.h",
        name: "ssd_latency_monitor_log",
        needs: &[],
        constants: &["READ", "WRITE", "TRIM"],
        base: 0,
        members,
    }
}

/// Groups of 32 buckets.
fn histogram(
    page: &'static str,
    file: &'static str,
    name: &'static str,
    groups: &[(&str, &str)],
) -> Structure {
    let members = groups.iter().flat_map(|(commands, member)| {
        (0..).zip(STARTS_US).map(move |(bucket, start)| {
            let key = format!("{commands}-latency-from-{start}-us-count");
            whole(&key, &format!("{member}[{bucket}]"))
        })
    });
    Structure { page, file, name, needs: &[], constants: &[], base: 0, members: members.collect() }
}

/// Where the buckets begin, as both plugins print it.
const STARTS_US: [u64; 32] = [
    0, 50, 100, 150, 200, 300, 400, 500, 600, 700, 800, 900, 1_000, 5_000, 10_000, 20_000, 50_000,
    100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000, 1_000_000,
    2_000_000, 3_000_000, 4_000_000, 5_000_000, 8_000_000,
];
const MEMBLAZE_GROUPS: &[(&str, &str)] = &[
    ("read", "bucket_read_data"),
    ("write", "bucket_write_data"),
    ("deallocate", "bucket_trim_data"),
];
const MICRON_GROUPS: &[(&str, &str)] = &[
    ("all", "all_cmds"),
    ("read", "read_cmds"),
    ("write", "write_cmds"),
    ("deallocate", "trim_cmds"),
];

const NVME_SMART: &[(&str, &str)] = &[
    ("critical-warning-bits", "critical_warning"),
    ("temperature-kelvin", "temperature"),
    ("available-spare-percent", "avail_spare"),
    ("available-spare-threshold-percent", "spare_thresh"),
    ("endurance-used-percent", "percent_used"),
    ("endurance-group-warning-bits", "endu_grp_crit_warn_sumry"),
    ("host-read-units-of-512000-bytes", "data_units_read"),
    ("host-written-units-of-512000-bytes", "data_units_written"),
    ("host-read-command-count", "host_reads"),
    ("host-write-command-count", "host_writes"),
    ("controller-busy-minutes", "ctrl_busy_time"),
    ("power-cycle-count", "power_cycles"),
    ("power-on-hours", "power_on_hours"),
    ("unsafe-shutdown-count", "unsafe_shutdowns"),
    ("media-error-count", "media_errors"),
    ("error-log-entry-count", "num_err_log_entries"),
    ("warning-temperature-minutes", "warning_temp_time"),
    ("critical-temperature-minutes", "critical_comp_time"),
    ("throttle-light-transition-count", "thm_temp1_trans_count"),
    ("throttle-heavy-transition-count", "thm_temp2_trans_count"),
    ("throttle-light-seconds", "thm_temp1_total_time"),
    ("throttle-heavy-seconds", "thm_temp2_total_time"),
];

const OCP_SMART: &[(&str, &str)] = &[
    ("media-written-bytes", "physical_media_units_written"),
    ("media-read-bytes", "physical_media_units_read"),
    ("bad-user-block-count", "bad_user_nand_blocks_raw"),
    ("bad-user-block-normalized-percent", "bad_user_nand_blocks_normalized"),
    ("bad-system-block-count", "bad_system_nand_blocks_raw"),
    ("bad-system-block-normalized-percent", "bad_system_nand_blocks_normalized"),
    ("xor-recovery-count", "xor_recovery_count"),
    ("uncorrectable-read-count", "uncorrectable_read_err_count"),
    ("soft-ecc-error-count", "soft_ecc_err_count"),
    ("end-to-end-detected-count", "end_to_end_detected_err"),
    ("end-to-end-corrected-count", "end_to_end_corrected_err"),
    ("system-data-used-percent", "system_data_used_percent"),
    ("refresh-count", "refresh_counts"),
    ("user-erase-max-count", "user_data_erase_count_max"),
    ("user-erase-min-count", "user_data_erase_count_min"),
    ("throttle-event-count", "thermal_throttling_event_count"),
    ("throttle-level", "thermal_throttling_current_status"),
    ("dssd-errata-version", "dssd_errata_version"),
    ("dssd-point-version", "dssd_point_version"),
    ("dssd-minor-version", "dssd_minor_version"),
    ("dssd-major-version", "dssd_major_version"),
    ("pcie-correctable-error-count", "pcie_correctable_err_count"),
    ("incomplete-shutdown-count", "incomplete_shoutdowns"),
    ("free-blocks-percent", "percent_free_blocks"),
    ("capacitor-health-percent", "capacitor_health"),
    ("nvme-base-errata-version", "nvme_base_errata_version"),
    ("nvme-command-set-errata-version", "nvme_cmdset_errata_version"),
    ("nvme-pcie-errata-version", "nvme_over_pcie_errate_version"),
    ("nvme-mi-errata-version", "nvme_mi_errata_version"),
    ("unaligned-io-count", "unaligned_io"),
    ("security-version", "security_version"),
    ("utilization-blocks", "total_nuse"),
    ("power-loss-protection-start-count", "plp_start_count"),
    ("endurance-estimate-bytes", "endurance_estimate"),
    ("pcie-retraining-count", "pcie_link_retaining_count"),
    ("power-state-change-count", "power_state_change_count"),
    ("lowest-permitted-firmware", "lowest_permitted_fw_rev"),
    ("media-die-count", "total_media_dies"),
    ("die-failure-tolerance-count", "total_die_failure_tolerance"),
    ("media-dies-offline-count", "media_dies_offline"),
    ("temperature-max-celsius", "max_temperature_recorded"),
    ("erase-average-count", "nand_avg_erase_count"),
    ("command-timeout-count", "command_timeouts"),
    ("system-program-fail-count", "sys_area_program_fail_count_raw"),
    ("system-program-fail-normalized-percent", "sys_area_program_fail_count_normalized"),
    ("system-uncorrectable-read-count", "sys_area_uncorr_read_count_raw"),
    ("system-uncorrectable-read-normalized-percent", "sys_area_uncorr_read_count_normalized"),
    ("system-erase-fail-count", "sys_area_erase_fail_count_raw"),
    ("system-erase-fail-normalized-percent", "sys_area_erase_fail_count_normalized"),
    ("peak-power-capability", "max_peak_power_capability"),
    ("average-power-max", "current_max_avg_power"),
    ("lifetime-power-consumed", "lifetime_power_consumed"),
    ("dssd-firmware-revision", "dssd_firmware_revision"),
    ("dssd-firmware-build", "dssd_firmware_build_uuid"),
    ("dssd-firmware-build-label", "dssd_firmware_build_label"),
];

const BOOT_SSD: &[(&str, &str)] = &[
    ("media-written-tlc-bytes", "ext_smart_pmuwt"),
    ("media-written-slc-bytes", "ext_smart_pmuws"),
    ("xor-recovery-count", "ext_smart_xrc"),
    ("uncorrectable-read-count", "ext_smart_urec"),
    ("end-to-end-corrected-count", "ext_smart_eece"),
    ("end-to-end-detected-count", "ext_smart_eede"),
    ("end-to-end-uncorrected-count", "ext_smart_eeue"),
    ("system-data-used-percent", "ext_smart_sdpu"),
    ("user-erase-min-tlc-count", "ext_smart_mnudec"),
    ("user-erase-max-tlc-count", "ext_smart_mxudec"),
    ("user-erase-average-tlc-count", "ext_smart_avudec"),
    ("user-erase-min-slc-count", "ext_smart_mnec"),
    ("user-erase-max-slc-count", "ext_smart_mxec"),
    ("user-erase-average-slc-count", "ext_smart_avec"),
    ("pcie-correctable-error-count", "ext_smart_pcec"),
    ("free-blocks-user-percent", "ext_smart_pfbu"),
    ("security-version", "ext_smart_svn"),
    ("free-blocks-system-percent", "ext_smart_pfbs"),
    ("deallocate-command-count", "ext_smart_dcc"),
    ("utilization-bytes", "ext_smart_tnu"),
    ("format-command-count", "ext_smart_fcc"),
    ("background-back-pressure-percent", "ext_smart_bbpg"),
    ("soft-ecc-error-count", "ext_smart_seec"),
    ("refresh-count", "ext_smart_rfsc"),
    ("endurance-estimate-bytes", "ext_smart_eest"),
    ("throttle-event-count", "ext_smart_ttc"),
    ("unaligned-io-count", "ext_smart_uio"),
    ("media-read-bytes", "ext_smart_pmur"),
    ("read-timeout-count", "ext_smart_rtoc"),
    ("write-timeout-count", "ext_smart_wtoc"),
    ("deallocate-timeout-count", "ext_smart_ttoc"),
    ("pcie-retraining-count", "ext_smart_plrc"),
    ("power-state-change-count", "ext_smart_pscc"),
    ("specification-major-version", "ext_smart_maj"),
    ("specification-minor-version", "ext_smart_min"),
    ("specification-point-version", "ext_smart_pt"),
    ("specification-errata-version", "ext_smart_err"),
    ("mapping-unit-bytes", "ext_smart_ftlus"),
    ("tcg-ownership", "ext_smart_tcgos"),
];

const BOOT_SSD_SPLIT: &[(&str, &str, usize, usize)] = &[
    ("bad-user-block-normalized-percent", "ext_smart_bunbc", 0, 2),
    ("bad-user-block-count", "ext_smart_bunbc", 2, 6),
    ("program-fail-normalized-percent", "ext_smart_pfc", 0, 2),
    ("program-fail-count", "ext_smart_pfc", 2, 6),
    ("erase-fail-normalized-percent", "ext_smart_efc", 0, 2),
    ("erase-fail-count", "ext_smart_efc", 2, 6),
    ("bad-system-block-normalized-percent", "ext_smart_bsnbc", 0, 2),
    ("bad-system-block-count", "ext_smart_bsnbc", 2, 6),
];

const WDC_DEVICE: &[(&str, &str)] = &[
    ("uncorrectable-read-count", "uncorr_read_count"),
    ("soft-ecc-error-count", "ecc_error_count"),
    ("end-to-end-detected-count", "ssd_detect_count"),
    ("end-to-end-corrected-count", "ssd_correct_count"),
    ("system-data-used-percent", "data_percent_used"),
    ("user-erase-max-count", "data_erase_max"),
    ("user-erase-min-count", "data_erase_min"),
    ("refresh-count", "refresh_count"),
    ("throttle-status", "thermal_throttle_status"),
    ("throttle-event-count", "thermal_throttle_count"),
    ("pcie-correctable-error-count", "pcie_corr_error"),
    ("incomplete-shutdown-count", "incomplete_shutdown_count"),
    ("free-blocks-percent", "percent_free_blocks"),
];

const WDC_DEVICE_SPLIT: &[(&str, &str, usize, usize)] = &[
    ("media-written-bytes", "nand_bytes_wr_lo", 0, 16),
    ("media-read-bytes", "nand_bytes_rd_lo", 0, 16),
    ("bad-block-normalized-percent", "nand_bad_block", 0, 2),
    ("bad-block-count", "nand_bad_block", 2, 6),
    ("program-fail-normalized-percent", "program_fail", 0, 2),
    ("program-fail-count", "program_fail", 2, 6),
    ("user-erase-fail-normalized-percent", "user_erase_fail", 0, 2),
    ("user-erase-fail-count", "user_erase_fail", 2, 6),
    ("system-erase-fail-normalized-percent", "system_erase_fail", 0, 2),
    ("system-erase-fail-count", "system_erase_fail", 2, 6),
];

const WDC_VENDOR: &[(&str, &str)] = &[
    ("page-header", "smart_log_page_header"),
    ("reallocated-block-count", "lifetime_realloc_erase_block_count"),
    ("power-on-hours", "lifetime_power_on_hours"),
    ("uecc-count", "lifetime_uecc_count"),
    ("write-amplification-lifetime", "lifetime_wrt_amp_factor"),
    ("write-amplification-hour", "trailing_hr_wrt_amp_factor"),
    ("reserve-block-count", "reserve_erase_block_count"),
    ("program-fail-count", "lifetime_program_fail_count"),
    ("erase-fail-count", "lifetime_block_erase_fail_count"),
    ("die-failure-count", "lifetime_die_failure_count"),
    ("link-downgrade-count", "lifetime_link_rate_downgrade_count"),
    ("clean-shutdown-count", "lifetime_clean_shutdown_count"),
    ("unclean-shutdown-count", "lifetime_unclean_shutdown_count"),
    ("temperature", "current_temp"),
    ("temperature-max", "max_recorded_temp"),
    ("retired-block-count", "lifetime_retired_block_count"),
    ("read-disturb-count", "lifetime_read_disturb_realloc_events"),
    ("nand-written-logical-pages", "lifetime_nand_writes"),
    ("capacitor-health", "capacitor_health"),
    ("user-writes", "lifetime_user_writes"),
    ("user-reads", "lifetime_user_reads"),
    ("throttle-event-count", "lifetime_thermal_throttle_act"),
    ("endurance-left-percent", "percentage_pe_cycles_remaining"),
];

const WDC_NAND_0: &[(&str, &str)] = &[
    ("media-written-tlc-bytes", "nand_write_tlc"),
    ("media-written-slc-bytes", "nand_write_slc"),
    ("program-fail-count", "nand_prog_failure"),
    ("erase-fail-count", "nand_erase_failure"),
    ("bad-block-count", "bad_block_count"),
    ("xor-recovery-count", "nand_rec_trigger_event"),
    ("end-to-end-error-count", "e2e_error_counter"),
    ("namespace-resize-count", "successful_ns_resize_event"),
];

const WDC_NAND_3: &[(&str, &str)] = &[
    ("media-written-tlc-bytes", "nand_write_tlc"),
    ("media-written-slc-bytes", "nand_write_slc"),
    ("xor-recovery-count", "xor_recovery_count"),
    ("uncorrectable-read-count", "uecc_read_error_count"),
    ("system-data-used-percent", "percent_life_used"),
    ("pcie-correctable-error-count", "correctable_error_count"),
    ("free-blocks-user-percent", "percent_free_blocks_user"),
    ("security-version", "security_version_number"),
    ("free-blocks-system-percent", "percent_free_blocks_system"),
    ("background-back-pressure-percent", "back_pressure_guage"),
    ("soft-ecc-error-count", "soft_ecc_error_count"),
    ("refresh-count", "refresh_count"),
    ("endurance-estimate-bytes", "endurance_estimate"),
    ("unaligned-io-count", "unaligned_IO"),
    ("media-read-bytes", "physical_media_units"),
];

const WDC_NAND_SPLIT: &[(&str, &str, usize, usize)] = &[
    ("bad-user-block-normalized-percent", "bad_nand_block_count", 0, 2),
    ("bad-user-block-count", "bad_nand_block_count", 2, 6),
    ("end-to-end-corrected-count", "ssd_correction_counts", 0, 8),
    ("end-to-end-detected-count", "ssd_correction_counts", 8, 4),
    ("end-to-end-uncorrected-count", "ssd_correction_counts", 12, 4),
    ("user-erase-min-tlc-count", "user_data_erase_counts", 0, 8),
    ("user-erase-max-tlc-count", "user_data_erase_counts", 8, 8),
    ("user-erase-min-slc-count", "user_data_erase_counts", 16, 8),
    ("user-erase-max-slc-count", "user_data_erase_counts", 24, 8),
    ("program-fail-normalized-percent", "program_fail_count", 0, 2),
    ("program-fail-count", "program_fail_count", 2, 6),
    ("erase-fail-normalized-percent", "erase_fail_count", 0, 2),
    ("erase-fail-count", "erase_fail_count", 2, 6),
    ("deallocate-command-count", "trim_completions", 0, 16),
    ("incomplete-trim", "trim_completions", 16, 8),
    ("completed-trim-percent", "trim_completions", 24, 1),
    ("bad-system-block-normalized-percent", "bad_sys_nand_block_count", 0, 2),
    ("bad-system-block-count", "bad_sys_nand_block_count", 2, 6),
    ("throttle-status", "thermal_throttling_st_ct", 0, 1),
    ("throttle-event-count", "thermal_throttling_st_ct", 1, 1),
];

const LATENCY_MONITOR: &[(&str, &str)] = &[
    ("feature-status-bits", "feature_status"),
    ("active-bucket-timer-5-minutes", "active_bucket_timer"),
    ("active-bucket-timer-threshold-5-minutes", "active_bucket_timer_threshold"),
    ("threshold-a-5-ms-minus-1", "active_threshold_a"),
    ("threshold-b-5-ms-minus-1", "active_threshold_b"),
    ("threshold-c-5-ms-minus-1", "active_threshold_c"),
    ("threshold-d-5-ms-minus-1", "active_threshold_d"),
    ("active-latency-configuration-bits", "active_latency_config"),
    ("active-latency-minimum-window-100-ms", "active_latency_min_window"),
    ("active-stamp-unit-bits", "active_latency_stamp_units"),
    ("static-stamp-unit-bits", "static_latency_stamp_units"),
    ("debug-log-size", "latency_monitor_debug_log_size"),
    ("debug-log-trigger-bits", "debug_log_trigger_enable"),
    ("debug-log-latency-ms", "debug_log_measured_latency"),
    ("debug-log-stamp", "debug_log_latency_stamp"),
    ("debug-log-pointer", "debug_log_ptr"),
    ("debug-log-source-bits", "debug_log_counter_trigger"),
    ("debug-log-stamp-unit-bits", "debug_log_stamp_units"),
    ("log-page-guid", "log_page_guid"),
];

const TELEMETRY_HEADER: &[(&str, &str)] = &[
    ("log-id", "log_id"),
    ("area-1-last-block", "da1_last_block"),
    ("area-2-last-block", "da2_last_block"),
    ("area-3-last-block", "da3_last_block"),
];

const TELEMETRY_AREA: &[(&str, &str)] = &[
    ("minor-version", "minor_version"),
    ("stamp", "time_stamp"),
    ("log-page-guid", "log_page_guid"),
    ("profile-count", "num_telemetry_profiles_supported"),
    ("profile", "telemetry_profile_selected"),
    ("string-log-dwords", "string_log_size"),
    ("firmware-revision", "firmware_revision"),
    ("area-1-statistics-start-dwords", "da1_statistic_start"),
    ("area-1-statistics-dwords", "da1_statistic_size"),
    ("area-2-statistics-start-dwords", "da2_statistic_start"),
    ("area-2-statistics-dwords", "da2_statistic_size"),
];

/// Micron's arrays.
pub(super) const ARRAYS: &[Array] = &[
    Array {
        page: "micron-fb-smart",
        file: MICRON,
        name: "fb_log_page",
        column: "size2",
        fields: &[
            ("media-written-tlc-bytes", "Physical Media Units Written - TLC"),
            ("media-written-slc-bytes", "Physical Media Units Written - SLC"),
            ("bad-user-block-normalized-percent", "Normalized Bad User NAND Block Count"),
            ("bad-user-block-count", "Raw Bad User NAND Block Count"),
            ("xor-recovery-count", "XOR Recovery Count"),
            ("uncorrectable-read-count", "Uncorrectable Read Error Count"),
            ("end-to-end-corrected-count", "SSD End to End Corrected Errors"),
            ("end-to-end-detected-count", "SSD End to End Detected Counts"),
            ("end-to-end-uncorrected-count", "SSD End to End Uncorrected Counts"),
            ("system-data-used-percent", "System data % life-used"),
            ("user-erase-min-tlc-count", "Minimum User Data Erase Count - TLC"),
            ("user-erase-max-tlc-count", "Maximum User Data Erase Count - TLC"),
            ("user-erase-average-tlc-count", "Average User Data Erase Count - TLC"),
            ("user-erase-min-slc-count", "Minimum User Data Erase Count - SLC"),
            ("user-erase-max-slc-count", "Maximum User Data Erase Count - SLC"),
            ("user-erase-average-slc-count", "Average User Data Erase Count - SLC"),
            ("program-fail-normalized-percent", "Normalized Program Fail Count"),
            ("program-fail-count", "Raw Program Fail Count"),
            ("erase-fail-normalized-percent", "Normalized Erase Fail Count"),
            ("erase-fail-count", "Raw Erase Fail Count"),
            ("pcie-correctable-error-count", "Pcie Correctable Error Count"),
            ("free-blocks-user-percent", "% Free Blocks (User)"),
            ("security-version", "Security Version Number"),
            ("free-blocks-system-percent", "% Free Blocks (System)"),
            ("deallocate-command-count", "Dataset Management (Deallocate) Commands"),
            ("incomplete-trim", "Incomplete TRIM Data"),
            ("completed-trim-percent", "% Age of Completed TRIM"),
            ("background-back-pressure-percent", "Background Back-Pressure Gauge"),
            ("soft-ecc-error-count", "Soft ECC Error Count"),
            ("refresh-count", "Refresh Count"),
            ("bad-system-block-normalized-percent", "Normalized Bad System NAND Block Count"),
            ("bad-system-block-count", "Raw Bad System NAND Block Count"),
            ("endurance-estimate-bytes", "Endurance Estimate"),
            ("throttle-status", "Thermal Throttling Status"),
            ("throttle-event-count", "Thermal Throttling Count"),
            ("unaligned-io-count", "Unaligned I/O"),
            ("media-read-bytes", "Physical Media Units Read"),
            ("read-timeout-count", "READ CMDs exceeding threshold"),
            ("write-timeout-count", "WRITE CMDs exceeding threshold"),
            ("deallocate-timeout-count", "TRIMs CMDs exceeding threshold"),
            ("log-page-guid", "Log Page GUID"),
        ],
    },
    Array {
        page: "micron-fb-smart-packed",
        file: MICRON,
        name: "fb_log_page",
        column: "size",
        fields: &[
            ("media-written-tlc-bytes", "Physical Media Units Written - TLC"),
            ("media-written-slc-bytes", "Physical Media Units Written - SLC"),
            ("bad-user-block-normalized-percent", "Normalized Bad User NAND Block Count"),
            ("bad-user-block-count", "Raw Bad User NAND Block Count"),
            ("xor-recovery-count", "XOR Recovery Count"),
            ("uncorrectable-read-count", "Uncorrectable Read Error Count"),
            ("end-to-end-corrected-count", "SSD End to End Corrected Errors"),
            ("end-to-end-detected-count", "SSD End to End Detected Counts"),
            ("end-to-end-uncorrected-count", "SSD End to End Uncorrected Counts"),
            ("system-data-used-percent", "System data % life-used"),
            ("user-erase-min-tlc-count", "Minimum User Data Erase Count - TLC"),
            ("user-erase-max-tlc-count", "Maximum User Data Erase Count - TLC"),
            ("user-erase-min-slc-count", "Minimum User Data Erase Count - SLC"),
            ("user-erase-max-slc-count", "Maximum User Data Erase Count - SLC"),
            ("program-fail-normalized-percent", "Normalized Program Fail Count"),
            ("program-fail-count", "Raw Program Fail Count"),
            ("erase-fail-normalized-percent", "Normalized Erase Fail Count"),
            ("erase-fail-count", "Raw Erase Fail Count"),
            ("pcie-correctable-error-count", "Pcie Correctable Error Count"),
            ("free-blocks-user-percent", "% Free Blocks (User)"),
            ("security-version", "Security Version Number"),
            ("free-blocks-system-percent", "% Free Blocks (System)"),
            ("deallocate-command-count", "Dataset Management (Deallocate) Commands"),
            ("incomplete-trim", "Incomplete TRIM Data"),
            ("completed-trim-percent", "% Age of Completed TRIM"),
            ("background-back-pressure-percent", "Background Back-Pressure Gauge"),
            ("soft-ecc-error-count", "Soft ECC Error Count"),
            ("refresh-count", "Refresh Count"),
            ("bad-system-block-normalized-percent", "Normalized Bad System NAND Block Count"),
            ("bad-system-block-count", "Raw Bad System NAND Block Count"),
            ("endurance-estimate-bytes", "Endurance Estimate"),
            ("throttle-status", "Thermal Throttling Status"),
            ("throttle-event-count", "Thermal Throttling Count"),
            ("unaligned-io-count", "Unaligned I/O"),
            ("media-read-bytes", "Physical Media Units Read"),
        ],
    },
];

/// Pages of device statistics, their numbers, and our keys in order.
pub(super) const STATISTICS: &[(&str, u8, &[&str])] = &[
    (
        "ata-general-statistics",
        1,
        &[
            "power-on-reset-count",
            "power-on-hours",
            "host-written-logical-sectors",
            "host-write-command-count",
            "host-read-logical-sectors",
            "host-read-command-count",
            "date-and-time-ms",
            "pending-error-count",
            "workload-utilization-percent",
            "utilization-usage-rate",
            "resource-availability",
            "random-write-resources-used",
        ],
    ),
    (
        "ata-rotating-statistics",
        3,
        &[
            "spindle-power-on-hours",
            "head-flying-hours",
            "head-load-count",
            "reallocated-logical-sectors",
            "read-recovery-attempt-count",
            "mechanical-start-failure-count",
            "reallocation-candidate-sectors",
            "high-priority-unload-count",
        ],
    ),
    (
        "ata-error-statistics",
        4,
        &["uncorrectable-error-count", "reset-while-busy-count", "physical-element-change-count"],
    ),
    (
        "ata-temperature-statistics",
        5,
        &[
            "temperature-celsius",
            "temperature-short-average-celsius",
            "temperature-long-average-celsius",
            "temperature-max-celsius",
            "temperature-min-celsius",
            "temperature-short-average-max-celsius",
            "temperature-short-average-min-celsius",
            "temperature-long-average-max-celsius",
            "temperature-long-average-min-celsius",
            "over-temperature-minutes",
            "temperature-specified-max-celsius",
            "under-temperature-minutes",
            "temperature-specified-min-celsius",
        ],
    ),
    (
        "ata-transport-statistics",
        6,
        &["hardware-reset-count", "signal-recovery-count", "interface-crc-error-count"],
    ),
    ("ata-solid-state-statistics", 7, &["endurance-used-percent"]),
];

/// Lists of attributes: our page, the file, what a list begins with, and which of them it is.
pub(super) const IDS: &[(&str, &str, &str, usize)] = &[
    ("memblaze-attributes@0", MEMBLAZE, "smart_log_add_item items[0xff] = ", 0),
    ("memblaze-attributes@2", MEMBLAZE, "smart_log_add_item items[0xff] = ", 1),
    ("memblaze-attributes@3", MEMBLAZE, "smart_log_add_item items[0xff] = ", 2),
];
