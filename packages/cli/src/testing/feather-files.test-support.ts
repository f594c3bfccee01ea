/**
 * Files that pyarrow 25.0.1 wrote by `write_feather(table, file, compression=...)`, in base64: 20,000 rows, `x` = i % 3 * 0.75 - 0.5 in float64 and
 * `n` = i % 5 in int32. Their buffers are longer than one block of the compression.
 */
export const LZ4_FEATHER = [
  'QVJST1cxAAD/////qAAAABAAAAAAAAoADAAGAAUACAAKAAAAAAEEAAwAAAAIAAgAAAAEAAgAAAAEAAAAAgAAAEwAAAAEAAAAzP///wAAAQIQAAAAHAAAAAQAAAAAAAAAAQAAAG4AAAAI',
  'AAwACAAHAAgAAAAAAAABIAAAABAAFAAIAAYABwAMAAAAEAAQAAAAAAABAxAAAAAYAAAABAAAAAAAAAABAAAAeAAGAAgABgAGAAAAAAACAP/////IAAAAFAAAAAAAAAAMABgABgAFAAgA',
  'DAAMAAAAAAMEABwAAABYBAAAAAAAAAAAAAAMABwAEAAEAAgADAAMAAAAaAAAABwAAAAUAAAAIE4AAAAAAAAAAAAABAAEAAQAAAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA2AIA',
  'AAAAAADYAgAAAAAAAAAAAAAAAAAA2AIAAAAAAACAAQAAAAAAAAAAAAACAAAAIE4AAAAAAAAAAAAAAAAAACBOAAAAAAAAAAAAAAAAAAAAcQIAAAAAAAQiTRhAQMAdAQAAEQABACHgvwcA',
  'MgDQPwgAE/AIAA8YAP//////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////',
  '////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////',
  '///////////////////////////////////////////////////////////////////////////////KUAAAANA/DgEAABEAAQAP8P//////////////////////////////////////',
  '////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////',
  '////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////',
  '////////////////////////4lAAAADgv44AAAARAAEAIdA/BwAjAPAIACLgvxAADxgA////////////////////////////////////////////////////////////////////////',
  '//////////////////////////////////////////////////////////////////////////////87UAAAANA/AAAAAIA4AQAAAAAABCJNGEBAwB8BAADwAgAAAAABAAAAAgAAAAMA',
  'AAAEEQAPFAD/////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////',
  '////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////',
  '////////////////////////////////////////////////////////////////////////01AAAwAAAEYAAAARBO7/DxQA////////////////////////////////////////////',
  '//////////////////////////////+aUAAEAAAAAAAAAP////8AAAAAEAAAAAwAFAAGAAgADAAQAAwAAAAAAAQANAAAACQAAAAEAAAAAQAAALgAAAAAAAAA0AAAAAAAAABYBAAAAAAA',
  'AAAAAAAIAAgAAAAEAAgAAAAEAAAAAgAAAEwAAAAEAAAAzP///wAAAQIQAAAAHAAAAAQAAAAAAAAAAQAAAG4AAAAIAAwACAAHAAgAAAAAAAABIAAAABAAFAAIAAYABwAMAAAAEAAQAAAA',
  'AAABAxAAAAAYAAAABAAAAAAAAAABAAAAeAAGAAgABgAGAAAAAAACANAAAABBUlJPVzE=',
].join('');

/** The first 300 of the rows. */
export const ZSTD_FEATHER = [
  'QVJST1cxAAD/////qAAAABAAAAAAAAoADAAGAAUACAAKAAAAAAEEAAwAAAAIAAgAAAAEAAgAAAAEAAAAAgAAAEwAAAAEAAAAzP///wAAAQIQAAAAHAAAAAQAAAAAAAAAAQAAAG4AAAAI',
  'AAwACAAHAAgAAAAAAAABIAAAABAAFAAIAAYABwAMAAAAEAAQAAAAAAABAxAAAAAYAAAABAAAAAAAAAABAAAAeAAGAAgABgAGAAAAAAACAP/////QAAAAFAAAAAAAAAAMABgABgAFAAgA',
  'DAAMAAAAAAMEABwAAABgAQAAAAAAAAAAAAAMAB4AEAAEAAgADAAMAAAAcAAAACQAAAAYAAAALAEAAAAAAAAAAAAAAAAGAAgABwAGAAAAAAAAAQQAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  'AAAAAAAwAQAAAAAAADABAAAAAAAAAAAAAAAAAAAwAQAAAAAAAC0AAAAAAAAAAAAAAAIAAAAsAQAAAAAAAAAAAAAAAAAALAEAAAAAAAAAAAAAAAAAAGAJAAAAAAAAKLUv/WBgCPUIADag',
  'LgrwOa6jsH+yCyMDKwAqACoAmlkza2bNrJk1s2bWzJpZM2tmzayZNbNm1syaWTNrZs2smTWzZtZgsAAACDNrZs2smTWzZtbMmlkza2bNrJk1s2bWzJpZM2tmzayZNbNm1syaWTNr5mbN',
  'rJk1s2bWzJpZM2tmzayZNbNm1syaWTNrZs2smTWzZtbMmlkza2bNrA4AALNm1syaWTNrZs2smTWzZtbMmlkza2bNrJk1s2bWzJpZM2tmzayZtYEqqBFg9XYD4a8BESSsH5v2357neZ7n',
  'eZ7N8zzP8zzP8zzPs3me53me53me53k2z/M8z/M8z/M8z+Z5nud5nud5nufZPM/zPM/zPM/zPJvneZ7neZ7neZ5nAxy0AiqQVQGwBAAAAAAAACi1L/1gsAPdAACQAAAAAAEAAAACAAAA',
  'AwAAAAQAAgCV3PwABsIAAAD/////AAAAABAAAAAMABQABgAIAAwAEAAMAAAAAAAEADQAAAAkAAAABAAAAAEAAAC4AAAAAAAAANgAAAAAAAAAYAEAAAAAAAAAAAAACAAIAAAABAAIAAAA',
  'BAAAAAIAAABMAAAABAAAAMz///8AAAECEAAAABwAAAAEAAAAAAAAAAEAAABuAAAACAAMAAgABwAIAAAAAAAAASAAAAAQABQACAAGAAcADAAAABAAEAAAAAAAAQMQAAAAGAAAAAQAAAAA',
  'AAAAAQAAAHgABgAIAAYABgAAAAAAAgDQAAAAQVJST1cx',
].join('');
